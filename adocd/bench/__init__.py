"""Measurements on real databases: device profiles, the db_bench workload and the demo."""
