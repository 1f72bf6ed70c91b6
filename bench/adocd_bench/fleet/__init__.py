"""Simulated databases behind the admin protocol, as many as no machine holds: for what a daemon of many targets costs.

Nothing of them is RocksDB: figures grow by a simple rule, and options do what they are told at once.
"""
