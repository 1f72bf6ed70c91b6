"""Sources of a sample's parts. Each takes what it reads from, so that tests can hand it something else."""
