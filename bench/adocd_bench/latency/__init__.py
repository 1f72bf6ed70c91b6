"""The native agent's sampler of write latencies: what it costs, and whether it is right."""
