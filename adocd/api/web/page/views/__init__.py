"""The page's layout: `parts` makes HTML from values, the other modules arrange NiceGUI's elements around it."""
