"""The workloads of the evaluation, and the programs that make them."""
