"""The proof of the laws on a real db_bench: by their rules, by the thesis's sine, and beside the simulator."""
