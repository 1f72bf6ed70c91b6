package net.adocd.examples.flink;

import java.util.Collection;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.contrib.streaming.state.ConfigurableRocksDBOptionsFactory;
import org.apache.flink.contrib.streaming.state.RocksDBOptionsFactory;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.RateLimiter;

/** Gives all databases of the process one rate limiter: together, their flushes and compactions go no faster. */
public class SlowDisk implements ConfigurableRocksDBOptionsFactory {
    /** 0: as fast as they can. */
    static final ConfigOption<Long> BYTES_PER_S =
        ConfigOptions.key("payments.slow-disk.bytes-per-second").longType().defaultValue(0L);

    private static final long serialVersionUID = 1;
    /** Open as long as the process: adocd can then read and change it. */
    private static RateLimiter limiter;

    private long bytesPerS;

    @Override
    public RocksDBOptionsFactory configure(ReadableConfig configuration) {
        bytesPerS = configuration.get(BYTES_PER_S);
        return this;
    }

    @Override
    public DBOptions createDBOptions(DBOptions current, Collection<AutoCloseable> handlesToClose) {
        return bytesPerS == 0 ? current : current.setRateLimiter(limiter(bytesPerS));
    }

    @Override
    public ColumnFamilyOptions createColumnOptions(
            ColumnFamilyOptions current, Collection<AutoCloseable> handlesToClose) {
        return current;
    }

    private static synchronized RateLimiter limiter(long bytesPerS) {
        if (limiter == null) {
            limiter = new RateLimiter(bytesPerS);
        }
        return limiter;
    }
}
