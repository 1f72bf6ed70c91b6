"""What is found by short runs before the runs that are compared: the best static options, rates that last."""
