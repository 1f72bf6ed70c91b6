"""Measurements on real databases: device profiles, workloads and the demo."""
