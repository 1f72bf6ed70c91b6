"""adocd and adocctl: the terminal."""
