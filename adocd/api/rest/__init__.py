"""The daemon's own REST: everything can be read and done here."""
