"""REST, metrics and the page."""
