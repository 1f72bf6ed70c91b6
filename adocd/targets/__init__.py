"""How a database is reached."""
