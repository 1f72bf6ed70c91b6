"""Recordings: files of what a live target's agent reported, and what a policy would have decided on them.

`format` defines a file's contents, `writer` and `reader` write and read it, `replay` runs a policy over one.
"""
