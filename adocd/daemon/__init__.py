"""The loop, guards, actuator and configuration: the only place that knows laws, probes and targets."""
