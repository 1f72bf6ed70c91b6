"""Simulated databases behind the admin protocol, to measure a daemon with more targets than one machine can run.

They contain no RocksDB: figures grow by a simple rule, and options take effect at once.
"""
