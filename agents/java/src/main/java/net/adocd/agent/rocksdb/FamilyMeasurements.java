package net.adocd.agent.rocksdb;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** Reads one column family into a snapshot's ColumnFamily. Not for several threads at once. */
final class FamilyMeasurements {
    private static final List<String> NUMBERS = List.of(
        "rocksdb.num-immutable-mem-table",
        "rocksdb.mem-table-flush-pending",
        "rocksdb.compaction-pending",
        "rocksdb.cur-size-active-mem-table",
        "rocksdb.cur-size-all-mem-tables",
        "rocksdb.estimate-pending-compaction-bytes",
        "rocksdb.base-level",
        "rocksdb.live-sst-files-size");
    private static final String LEVEL_FILES = "rocksdb.num-files-at-level";
    private static final int MOST_LEVELS_LISTED = 7;
    /** By our name: RocksDB's names, of which each release has one (the first one 11.8, the second one 7.8). */
    private static final Map<String, List<String>> STALL_COUNTS = new LinkedHashMap<>();
    /** The greatest age of level sizes and stall counts (s), which cost more than all else together. */
    private static final double MAX_AGE_S = 1.0;

    static {
        STALL_COUNTS.put("memtable_stops", List.of("memtable-limit-stops", "io_stalls.memtable_compaction"));
        STALL_COUNTS.put("memtable_slowdowns", List.of("memtable-limit-delays", "io_stalls.memtable_slowdown"));
        STALL_COUNTS.put("l0_stops", List.of("l0-file-count-limit-stops", "io_stalls.level0_numfiles"));
        STALL_COUNTS.put("l0_slowdowns", List.of("l0-file-count-limit-delays", "io_stalls.level0_slowdown"));
        STALL_COUNTS.put("pending_bytes_stops",
            List.of("pending-compaction-bytes-stops", "io_stalls.stop_for_pending_compaction_bytes"));
        STALL_COUNTS.put("pending_bytes_slowdowns",
            List.of("pending-compaction-bytes-delays", "io_stalls.slowdown_for_pending_compaction_bytes"));
    }

    private final RocksApi api;
    /** Properties that this RocksDB does not have: each attempt would cost an exception. */
    private final Set<String> missing = new HashSet<>();
    private String version = "";
    private double readS = Double.NEGATIVE_INFINITY;
    private Map<String, Object> stallCounts;
    private List<Long> levelBytes;

    FamilyMeasurements(RocksApi api) {
        this.api = api;
    }

    /** Reads it; the caller holds the gates of the database and the handle. {@code levels}: how many it has. */
    Map<String, Object> read(Object db, Object handle, Integer id, int levels, double nowS) {
        Map<String, Object> properties = new LinkedHashMap<>();
        for (String name : NUMBERS) {
            put(properties, name, db, handle);
        }
        for (int level = 0; level < Math.min(levels, MOST_LEVELS_LISTED); level++) {
            put(properties, LEVEL_FILES + level, db, handle);
        }
        readCfStats(db, handle, levels, properties, nowS);
        Map<String, Object> written = new LinkedHashMap<>();
        written.put("properties", properties);
        written.put("stall_counts", stallCounts);
        written.put("level_bytes", levelBytes);
        written.put("id", id);
        return written;
    }

    private void put(Map<String, Object> properties, String name, Object db, Object handle) {
        Long value = number(db, handle, name);
        if (value != null) {
            properties.put(name, value);
        }
    }

    /** Returns an integer property, null where it cannot be read. */
    Long number(Object db, Object handle, String name) {
        if (missing.contains(name)) {
            return null;
        }
        try {
            return name.startsWith(LEVEL_FILES)
                ? Long.valueOf(api.textProperty(db, handle, name)) // RocksDB has it as text alone
                : Long.valueOf(api.longProperty(db, handle, name));
        } catch (RocksApi.RocksError | NumberFormatException unreadable) {
            if (missing.size() < 100) { // names come from restore plans, too
                missing.add(name);
            }
            return null;
        }
    }

    /** Level sizes and stall counts change with the super version, or not at all. */
    private void readCfStats(Object db, Object handle, int levels, Map<String, Object> properties, double nowS) {
        String now = number(db, handle, "rocksdb.current-super-version-number") + " "
            + properties.get("rocksdb.live-sst-files-size") + " " + levels;
        if (now.equals(version) && nowS - readS < MAX_AGE_S) {
            return;
        }
        try {
            Map<String, String> found = api.mapProperty(db, handle, "rocksdb.cfstats");
            List<Long> sizes = new ArrayList<>();
            for (int level = 0; level < levels; level++) {
                sizes.add(wholeOf(found.get("compaction.L" + level + ".SizeBytes")));
            }
            stallCounts = stallCountsOf(found);
            levelBytes = sizes;
            version = now;
            readS = nowS;
        } catch (RocksApi.RocksError | NumberFormatException unreadable) {
            stallCounts = null;
            levelBytes = null;
        }
    }

    /** Returns null unless all are there: a cause that is not counted must not read as none. */
    private static Map<String, Object> stallCountsOf(Map<String, String> found) {
        Map<String, Object> counts = new LinkedHashMap<>();
        STALL_COUNTS.forEach((count, names) -> names.stream().map(found::get).filter(Objects::nonNull).findFirst()
            .ifPresent(value -> counts.put(count, wholeOf(value))));
        return counts.size() == STALL_COUNTS.size() ? counts : null;
    }

    /** RocksDB writes sizes as decimal fractions, exact up to 2^53, and leaves out levels that never had a file. */
    private static Long wholeOf(String text) {
        if (text == null) {
            return 0L;
        }
        int point = text.indexOf('.');
        return Long.valueOf(point < 0 ? text : text.substring(0, point));
    }
}
