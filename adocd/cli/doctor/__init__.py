"""`adocctl doctor`: what is wrong with this installation, and the way out."""
