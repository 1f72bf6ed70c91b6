"""Plain values without clock or I/O: samples, overflow, knobs, decisions, policies."""
