"""`adocctl top`: what all databases suffer from and what adocd does about it, live."""
