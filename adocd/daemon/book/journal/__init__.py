"""The daemon's durable state: original options, policies, overrides, pauses, decisions.

Use `journal.Journal`. Everything that must not be lost is a document, a row of JSON with a checksum (`documents`), so
that a damaged file can be read row by row (`rescue`).
"""
