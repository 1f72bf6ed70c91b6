"""The terminal: `adocd bench` and `adocd demo`."""
