package net.adocd.agent.rocksdb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import net.adocd.agent.session.Catalogue;
import org.junit.jupiter.api.Test;

class TextsTest {
    private static final String OPTIONS = """
        # This is a RocksDB option file.
        [Version]
          rocksdb_version=9.7.3
          options_file_version=1.1

        [DBOptions]
          max_background_jobs=2
          wal_dir=/a\\\\b
          max_manifest_file_size=1073741824

        [CFOptions "default"]
          write_buffer_size=67108864
          num_levels=7
          compression_opts={level=32767;}

        [TableOptions/BlockBasedTable "default"]
          block_size=4096

        [CFOptions "a \\\\#b"]
          write_buffer_size=1
        """;

    @Test
    void anOptionsFileIsReadBySections() {
        OptionsFile file = OptionsFile.parse(OPTIONS);
        assertEquals("9.7.3", file.rocksdbVersion());
        assertEquals(9007, file.versionNumber());
        assertEquals("/a\\b", file.database().get("wal_dir"));
        assertEquals(Map.of("write_buffer_size", "1"), file.columnFamilies().get("a \\#b"));
        assertFalse(file.columnFamilies().get("default").containsKey("block_size"));
    }

    @Test
    void whatAVersionCannotChangeLiveIsNotLiveThere() {
        Catalogue catalogue = LiveOptions.of(OptionsFile.parse(OPTIONS));
        assertEquals(java.util.Set.of("write_buffer_size"), catalogue.columnFamily().keySet());
        assertTrue(catalogue.notLive().get("column_family").contains("num_levels"));
        assertFalse(catalogue.notLive().get("column_family").contains("compression_opts"));
        assertTrue(catalogue.notLive().get("database").contains("max_manifest_file_size"));
        Catalogue newer = LiveOptions.of(OptionsFile.parse(OPTIONS.replace("9.7.3", "11.8.1")));
        assertTrue(newer.database().containsKey("max_manifest_file_size"));
    }

    @Test
    void statisticsAreTickersAndHistograms() {
        StatisticsText read = StatisticsText.parse("""
            rocksdb.bytes.written COUNT : 42
            rocksdb.db.flush.micros P50 : 1.0 P95 : 2.0 P99 : 2.0 P100 : 2.0 COUNT : 3 SUM : 7
            rocksdb.empty P50 : 0.0 P95 : 0.0 P99 : 0.0 P100 : 0.0 COUNT : 0 SUM : 0
            another line
            rocksdb.wrong COUNT : x
            """);
        assertEquals(Map.of("rocksdb.bytes.written", 42L), read.tickers());
        assertArrayEquals(new long[] {3, 7}, read.histograms().get("rocksdb.db.flush.micros"));
        assertEquals(Map.of("rocksdb.db.flush.micros", Map.of("count", 3L, "sum", 7L)), read.histogramsJson());
        assertEquals(3L, read.totals().get("flushes"));
        assertNull(read.totals().get("writes"));
    }

    @Test
    void theTimeOfWaitsIsInMilliseconds() {
        String text = "** DB Stats **\nCumulative stall: 01:02:3.450 H:M:S, 0.1 percent\n";
        assertEquals(3_723_450_000L, RocksDatabase.stallMicros(text));
        assertNull(RocksDatabase.stallMicros("nothing"));
    }

    @Test
    void theIdIsThePublishedHash() {
        assertEquals("cbf29ce484222325", Identity.fnv1a64(new byte[0]));
        assertEquals("85944171f73967e8", Identity.fnv1a64("foobar".getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void timeCountsForTheConditionFoundBefore() {
        StallTimes times = new StallTimes(10);
        times.look(11, true, false);
        times.look(13, false, true);
        times.look(14, false, false);
        times.look(20, false, false);
        assertEquals(
            Map.of("condition", "normal", "since_monotonic_s", 14.0, "stopped_s", 2.0, "delayed_s", 1.0),
            times.asJson());
    }
}
