"""Reaches a database by its directory alone: reads its LOG and OPTIONS file, and can change nothing."""
