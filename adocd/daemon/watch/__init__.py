"""What is seen of a target and kept: observation, samples, history, events, the daemon's own figures."""
