"""The evaluation: schemes, device profiles and workloads against each other, on real RocksDB, by one command."""
