package net.adocd.agent.rocksdb;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The counts of a Statistics object, by RocksDB's names.
 *
 * @param tickers cumulative counts
 * @param histograms the number of values and their sum in the histogram's own unit; empty ones are included
 */
record StatisticsText(Map<String, Long> tickers, Map<String, long[]> histograms) {
    /** The contract's counters by the ticker or histogram that they come from. */
    static final Map<String, String> COUNTERS = new LinkedHashMap<>();

    static {
        COUNTERS.put("writes", "rocksdb.number.keys.written");
        COUNTERS.put("written_bytes", "rocksdb.bytes.written");
        COUNTERS.put("wal_bytes", "rocksdb.wal.bytes");
        COUNTERS.put("stall_micros", "rocksdb.stall.micros");
        // Histograms of finished jobs: their count is the number of jobs. A trivial move runs no job.
        COUNTERS.put("flushes", "rocksdb.db.flush.micros");
        COUNTERS.put("flush_written_bytes", "rocksdb.flush.write.bytes");
        COUNTERS.put("compactions", "rocksdb.compaction.times.micros");
        COUNTERS.put("compaction_read_bytes", "rocksdb.compact.read.bytes");
        COUNTERS.put("compaction_written_bytes", "rocksdb.compact.write.bytes");
    }

    /** Reads the text: a ticker's line is "NAME COUNT : N", a histogram's "NAME P50 : ... COUNT : N SUM : S". */
    static StatisticsText parse(String text) {
        StatisticsText read = new StatisticsText(new LinkedHashMap<>(512), new LinkedHashMap<>(128));
        int begin = 0;
        while (begin < text.length()) {
            int end = text.indexOf('\n', begin);
            end = end < 0 ? text.length() : end;
            read.readLine(text.substring(begin, end));
            begin = end + 1;
        }
        return read;
    }

    private void readLine(String line) {
        int count = line.indexOf(" COUNT : ");
        int space = line.indexOf(' ');
        if (count < 0) {
            return;
        }
        String number = line.substring(count + 9);
        try {
            if (space == count) {
                tickers.put(line.substring(0, space), Long.parseLong(number));
                return;
            }
            int sum = number.indexOf(" SUM : ");
            histograms.put(line.substring(0, space), new long[] {
                Long.parseLong(number.substring(0, sum)), Long.parseLong(number.substring(sum + 7).strip())});
        } catch (NumberFormatException | IndexOutOfBoundsException other) {
            return; // a line of another format costs that line alone
        }
    }

    /** Returns a ticker, or how many values a histogram has; null where there is no such name. */
    Long cumulative(String name) {
        long[] histogram = histograms.get(name);
        return histogram == null ? tickers.get(name) : Long.valueOf(histogram[0]);
    }

    /** Returns the totals behind the contract's counters, since the Statistics object was made. */
    Map<String, Long> totals() {
        Map<String, Long> found = new LinkedHashMap<>();
        COUNTERS.forEach((counter, source) -> found.put(counter, cumulative(source)));
        return found;
    }

    /** Returns the histograms that have values as the contract writes them. */
    Map<String, Object> histogramsJson() {
        Map<String, Object> written = new LinkedHashMap<>();
        histograms.forEach((name, values) -> {
            if (values[0] > 0) {
                written.put(name, Map.of("count", values[0], "sum", values[1]));
            }
        });
        return written;
    }
}
