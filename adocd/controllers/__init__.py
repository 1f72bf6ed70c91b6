"""Control laws, one per file; they are deterministic and use neither clock nor I/O."""
