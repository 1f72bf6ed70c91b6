"""A database reached by its directory alone: its LOG and OPTIONS file are read, and nothing can be changed."""
