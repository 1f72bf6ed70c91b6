package net.adocd.examples.orders;

import java.util.Map;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.Options;
import org.rocksdb.RateLimiter;

/**
 * Kafka Streams' own options for RocksDB but two: small memtables, as applications have that bound their memory, and a
 * rate limiter that all stores share, so that flushes and compactions go no faster than on a slow disk.
 */
public final class StoreOptions implements RocksDBConfigSetter {
    /** The key of the application's configuration that has the limiter's bytes a second; 0: no rate limiter. */
    static final String BYTES_PER_S = "orders.rate.limiter.bytes.per.s";

    /** A quarter of Kafka Streams' default. */
    private static final long WRITE_BUFFER_BYTES = 4L << 20;

    /** Never closed: RocksDB would go on with it, but nothing could change its rate any more. */
    private static RateLimiter limiter;

    @Override
    public void setConfig(String store, Options options, Map<String, Object> configs) {
        options.setWriteBufferSize(WRITE_BUFFER_BYTES);
        long bytesPerS = Long.parseLong(configs.get(BYTES_PER_S).toString());
        if (bytesPerS > 0) {
            options.setRateLimiter(shared(bytesPerS));
        }
    }

    @Override
    public void close(String store, Options options) { }

    private static synchronized RateLimiter shared(long bytesPerS) {
        if (limiter == null) {
            limiter = new RateLimiter(bytesPerS);
        }
        return limiter;
    }
}
