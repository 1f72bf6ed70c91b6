package net.adocd.agent.rocksdb;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import net.adocd.agent.session.Catalogue;
import net.adocd.agent.session.OptionKind;

/**
 * Which options SetOptions and SetDBOptions take, from RocksDB 6.20 to 11.8; a test checks every entry against the
 * engines. An option counts where the database's OPTIONS file has it.
 */
final class LiveOptions {
    /** They cannot be changed live, but they decide what the live options of a column family do. */
    static final Set<String> DECIDING = Set.of(
        "compaction_style", "level_compaction_dynamic_level_bytes", "min_write_buffer_number_to_merge", "num_levels");

    private static final String STRUCTURE = "it is a structure, whose values this agent does not check";
    private static final String OBJECT = "it is an object, not a value";

    private static final OptionKind COMPRESSION = OptionKind.oneOf(
        "kNoCompression", "kSnappyCompression", "kZlibCompression", "kBZip2Compression", "kLZ4Compression",
        "kLZ4HCCompression", "kXpressCompression", "kZSTD", "kZSTDNotFinalCompression", "kDisableCompressionOption");
    private static final OptionKind TEMPERATURE = OptionKind.oneOf("kUnknown", "kHot", "kWarm", "kCold");

    private static final Map<String, OptionKind> FAMILY = new LinkedHashMap<>();
    private static final Map<String, OptionKind> DATABASE = new LinkedHashMap<>();
    /** Options that older versions have but cannot change live, by the version (9007 is 9.7) that first can. */
    private static final Map<String, Integer> LIVE_SINCE = Map.of(
        "preclude_last_level_data_seconds", 10010,
        "preserve_internal_time_seconds", 10010,
        "manifest_preallocation_size", 10010,
        "max_manifest_file_size", 10010);
    private static final Map<String, String> UNCHECKED = new HashMap<>();

    private LiveOptions() { }

    private static void family(OptionKind kind, String... names) {
        for (String name : names) {
            FAMILY.put(name, kind);
        }
    }

    private static void database(OptionKind kind, String... names) {
        for (String name : names) {
            DATABASE.put(name, kind);
        }
    }

    static {
        family(OptionKind.SIZE,
            "arena_block_size", "blob_compaction_readahead_size", "blob_file_size",
            "hard_pending_compaction_bytes_limit", "inplace_update_num_locks",
            "max_compaction_bytes", "max_sequential_skip_in_iterations", "max_successive_merges",
            "memtable_huge_page_size", "min_blob_size", "periodic_compaction_seconds",
            "preclude_last_level_data_seconds", "preserve_internal_time_seconds", "sample_for_compression",
            "soft_pending_compaction_bytes_limit", "target_file_size_base", "ttl", "write_buffer_size");
        family(OptionKind.INT,
            "blob_file_starting_level", "level0_file_num_compaction_trigger", "target_file_size_multiplier");
        family(OptionKind.FILES, "level0_slowdown_writes_trigger", "level0_stop_writes_trigger");
        family(OptionKind.MEMTABLES, "max_write_buffer_number");
        family(OptionKind.LEVEL_BASE, "max_bytes_for_level_base");
        family(OptionKind.UINT32,
            "bottommost_file_compaction_delay", "memtable_avg_op_scan_flush_trigger", "memtable_max_range_deletions",
            "memtable_op_scan_flush_trigger", "memtable_protection_bytes_per_key",
            "min_tombstones_for_range_conversion", "uncache_aggressiveness", "verify_output_flags");
        family(OptionKind.UINT8, "block_protection_bytes_per_key");
        family(OptionKind.BOOL,
            "check_flush_compaction_key_order", "disable_auto_compactions", "enable_blob_files",
            "enable_blob_garbage_collection", "ignore_max_compaction_bytes_for_input",
            // 10.10 writes the first one so.
            "memtable_veirfy_per_key_checksum_on_seek", "memtable_verify_per_key_checksum_on_seek",
            "memtable_whole_key_filtering", "paranoid_file_checks", "paranoid_memory_checks", "report_bg_io_stats",
            "strict_max_successive_merges", "target_file_size_is_upper_bound");
        family(OptionKind.DOUBLE,
            "blob_garbage_collection_age_cutoff", "blob_garbage_collection_force_threshold",
            "experimental_mempurge_threshold", "memtable_prefix_bloom_size_ratio", "read_triggered_compaction_threshold");
        family(OptionKind.MULTIPLIER, "max_bytes_for_level_multiplier");
        family(OptionKind.INTS, "max_bytes_for_level_multiplier_additional");
        family(COMPRESSION, "blob_compression_type", "bottommost_compression", "compression");
        family(TEMPERATURE, "default_write_temperature", "last_level_temperature");
        family(OptionKind.oneOf("kDisable", "kFlushOnly"), "prepopulate_blob_cache");

        database(OptionKind.SIZE,
            "bytes_per_sync", "compaction_readahead_size", "delete_obsolete_files_period_micros",
            "manifest_preallocation_size", "max_manifest_file_size", "max_total_wal_size",
            "max_compaction_trigger_wakeup_seconds", "stats_history_buffer_size", "wal_bytes_per_sync",
            "writable_file_max_buffer_size");
        database(OptionKind.DELAYED_RATE, "delayed_write_rate");
        database(OptionKind.JOBS, "max_background_jobs");
        database(OptionKind.JOBS_OR_AUTOMATIC,
            "base_background_compactions", "max_background_compactions", "max_background_flushes");
        database(OptionKind.INT, "max_manifest_space_amp_pct", "max_open_files");
        database(OptionKind.UINT32, "max_subcompactions", "stats_dump_period_sec", "stats_persist_period_sec");
        database(OptionKind.BOOL,
            "avoid_flush_during_shutdown", "fast_sst_open", "optimize_manifest_for_recovery", "strict_bytes_per_sync",
            "verify_manifest_content_on_close");
        database(OptionKind.OFFPEAK, "daily_offpeak_time_utc");

        for (String name : new String[] {"blob_compression_opts", "bottommost_compression_opts",
            "compaction_options_fifo", "compaction_options_universal", "compression_opts"}) {
            UNCHECKED.put(name, STRUCTURE);
        }
        for (String name : new String[] {
            "comparator", "compression_manager", "memtable_factory", "prefix_extractor", "table_factory"}) {
            UNCHECKED.put(name, OBJECT);
        }
    }

    /** Returns what there is in the RocksDB that wrote this file. */
    static Catalogue of(OptionsFile file) {
        Map<String, String> oneFamily = file.columnFamilies().values().stream().findFirst().orElse(Map.of());
        int version = file.versionNumber();
        Map<String, OptionKind> family = live(FAMILY, oneFamily, version);
        Map<String, OptionKind> database = live(DATABASE, file.database(), version);
        Map<String, Set<String>> notLive = new HashMap<>();
        notLive.put("column_family", without(oneFamily.keySet(), family.keySet()));
        notLive.put("database", without(file.database().keySet(), database.keySet()));
        return new Catalogue(family, database, notLive, UNCHECKED);
    }

    private static Map<String, OptionKind> live(Map<String, OptionKind> kinds, Map<String, String> there, int version) {
        Map<String, OptionKind> found = new LinkedHashMap<>();
        kinds.forEach((name, kind) -> {
            if (there.containsKey(name) && version >= LIVE_SINCE.getOrDefault(name, 0)) {
                found.put(name, kind);
            }
        });
        return found;
    }

    private static Set<String> without(Set<String> there, Set<String> live) {
        Set<String> rest = new TreeSet<>(there);
        rest.removeAll(live);
        rest.removeAll(UNCHECKED.keySet());
        return rest;
    }
}
