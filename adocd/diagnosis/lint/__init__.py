"""Finds what in a database's configuration makes tuning dangerous or useless."""
