"""The demo: the same program twice, without and with control."""
