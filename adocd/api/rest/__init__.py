"""The daemon's REST API on its Unix socket; clients may do everything."""
