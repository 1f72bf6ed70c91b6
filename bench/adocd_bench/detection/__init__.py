"""What of RocksDB's stalls is seen, and how soon, with figures."""
