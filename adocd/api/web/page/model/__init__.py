"""Turns REST's answers into what the page shows: pure functions without a clock, a browser or a UI library."""
