"""The second process that `adocd serve` supervises: all that TCP clients see, as a client of the daemon's REST."""
