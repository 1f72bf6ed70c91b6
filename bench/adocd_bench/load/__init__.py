"""The load generator: open-loop load on a real RocksDB, with intended start times (docs/load-generator.md)."""
