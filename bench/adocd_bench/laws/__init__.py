"""Tests the laws on a real db_bench: against their rules, with the thesis's sine, and against the simulator."""
