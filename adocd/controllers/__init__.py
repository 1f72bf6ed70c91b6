"""Control laws: one a file, deterministic, without clock or I/O."""
