package net.adocd.examples.orders;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/** Counts the puts of all stores and keeps the longest. */
final class Meter {
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private final LongAdder records = new LongAdder();
    private final LongAccumulator longestNow = new LongAccumulator(Math::max, 0);
    private long longest; // of all seconds before the last line
    private long startedNanos;
    private long startedProcessorNanos;
    private long lineS;
    private long lineNanos;
    private long lineRecords;

    /** Called by the operator after each put. */
    void put(long nanos) {
        records.increment();
        longestNow.accumulate(nanos);
    }

    long records() {
        return records.sum();
    }

    /** The time since the first record, 0 before it. */
    double elapsedS() {
        return startedNanos == 0 ? 0 : (System.nanoTime() - startedNanos) / 1e9;
    }

    /** Begins to count time once there is a record; one thread calls this and the following. */
    void look() {
        if (startedNanos == 0 && records() > 0) {
            startedNanos = System.nanoTime();
            startedProcessorNanos = SYSTEM.getProcessCpuTime();
            lineNanos = startedNanos;
        }
    }

    /** What happened since the last line, or null while the next second is not over. */
    String line() {
        long second = (long) elapsedS();
        if (second == lineS) {
            return null;
        }
        long now = System.nanoTime();
        long total = records();
        long perS = Math.round((total - lineRecords) / ((now - lineNanos) / 1e9));
        long longestNanos = longestNow.getThenReset();
        longest = Math.max(longest, longestNanos);
        lineS = second;
        lineNanos = now;
        lineRecords = total;
        return String.format(Locale.ROOT, "%5d s  %d records/s  longest put %.1f ms", second, perS, longestNanos / 1e6);
    }

    /** The last line. */
    String total() {
        longest = Math.max(longest, longestNow.getThenReset());
        double processorS = startedNanos == 0 ? 0 : (SYSTEM.getProcessCpuTime() - startedProcessorNanos) / 1e9;
        return String.format(Locale.ROOT, "total: %d records in %.1f s, %.1f s of processor time in RocksDB's process, "
                + "longest put %.1f ms", records(), elapsedS(), processorS, longest / 1e6);
    }
}
