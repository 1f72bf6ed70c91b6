"""The second process of `adocd serve`: everything that TCP clients see, as a client of the daemon's REST API."""
