"""Attaching to programs that are already running: what they notice of it, and what it is good for."""
