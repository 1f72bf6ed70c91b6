"""Incidents of real databases, recorded as what REST answered at the end of each."""
