"""What in a database's configuration makes tuning it dangerous or useless."""
