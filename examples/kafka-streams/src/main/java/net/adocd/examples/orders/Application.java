package net.adocd.examples.orders;

import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.stream.IntStream;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.state.Stores;

/** The topology `orders`: from the topic of that name into key-value stores on RocksDB, with their changelogs. */
final class Application {
    static final String ID = "orders";
    static final String TOPIC = "orders";
    private static final List<String> KINDS = List.of("balances", "carts", "deliveries", "discounts", "invoices",
            "payments", "prices", "refunds", "returns", "stock");

    private Application() { }

    static KafkaStreams create(Options options, String brokers, Meter meter) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, ID);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, brokers);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory(options.directory()).toString());
        settings.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, StoreOptions.class);
        settings.put(StoreOptions.BYTES_PER_S, Long.toString(options.rateLimiterBytesPerS()));
        return new KafkaStreams(topology(storeNames(options.storesPerTask()), meter), settings);
    }

    static Path stateDirectory(Path directory) {
        return directory.resolve("state");
    }

    /** The names of a task's stores: `balances`, `carts` and so on; from the eleventh on with a number. */
    static List<String> storeNames(int count) {
        return IntStream.range(0, count)
                .mapToObj(n -> KINDS.get(n % KINDS.size()) + (n < KINDS.size() ? "" : "-" + (n / KINDS.size() + 1)))
                .toList();
    }

    private static Topology topology(List<String> stores, Meter meter) {
        Topology topology = new Topology()
                .addSource("orders-in", Serdes.Long().deserializer(), Serdes.ByteArray().deserializer(), TOPIC)
                .addProcessor("keep", () -> new OrderProcessor(stores, meter), "orders-in");
        for (String store : stores) {
            var supplier = Stores.persistentKeyValueStore(store);
            // With a changelog, as is the default.
            topology.addStateStore(Stores.keyValueStoreBuilder(supplier, Serdes.Long(), Serdes.ByteArray()), "keep");
        }
        return topology;
    }
}
