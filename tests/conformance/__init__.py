"""The conformance suite: one set of tests that every agent passes, whatever it is written in."""
