"""Searches by short runs, before the runs that are compared: the best static options, and sustainable rates."""
