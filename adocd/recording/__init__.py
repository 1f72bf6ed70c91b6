"""Recordings: what a live target's agent reported, in a file, and what a policy would have decided on it.

`format` says what is in a file, `writer` and `reader` are its two ends, `replay` runs a policy over one.
"""
