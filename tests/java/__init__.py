"""The Java agent beyond the conformance suite: what it does to a JVM, and what a JVM may do to it."""
