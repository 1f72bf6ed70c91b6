"""Tide, the law of our own: `adocd.controllers.tide.law`."""
