"""What outlives the daemon: the journal, the audit trail, overrides and tokens."""
