"""What the daemon observes of a target and keeps: samples, history, events, decisions and its own metrics."""
