"""How the page looks: `words` and `parts` make HTML from values, the others lay NiceGUI's elements out around it."""
