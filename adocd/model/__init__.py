"""Plain values: samples, overflow, knobs, decisions, policies. No clock and no I/O."""
