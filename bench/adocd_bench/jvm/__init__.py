"""RocksDB in a JVM: Kafka Streams and Flink, attached to, under laws, and what the agent costs."""
