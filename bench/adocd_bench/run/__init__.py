"""A program under its agent and a daemon: where it runs, how it is started, what is seen of it."""
