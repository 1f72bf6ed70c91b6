"""Lets adocd observe and tune a RocksDB that this program has opened with rocksdict (agents/admin-api.yaml)."""
