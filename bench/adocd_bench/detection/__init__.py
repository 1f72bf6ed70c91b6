"""Measures how many of RocksDB's write stalls adocd detects, and how soon."""
