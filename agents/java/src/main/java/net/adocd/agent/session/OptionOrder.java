package net.adocd.agent.session;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Two options of a column family that RocksDB puts in order only at open (SanitizeOptions in db/column_family.cc):
 * {@code lower} + {@code apart} must not exceed {@code upper}.
 *
 * @param otherwise what RocksDB does with other values that are set live
 */
record OptionOrder(String lower, String upper, long apart, String otherwise) {
    private static final String TRIGGER = "level0_file_num_compaction_trigger";
    private static final List<OptionOrder> ALL = List.of(
        // rocksdbjni has no assertions; with them, this one ends the process.
        new OptionOrder(TRIGGER, "level0_slowdown_writes_trigger", 0, "slows writes down before a compaction is due"),
        new OptionOrder(TRIGGER, "level0_stop_writes_trigger", 0,
            "stops writes before a compaction is due, for good"),
        new OptionOrder("min_write_buffer_number_to_merge", "max_write_buffer_number", 1,
            "stops writes before a flush is due, for good"));

    /** Finds what a change would put out of order, with the values that its column family has; null if nothing. */
    static Hindrance findConflict(Change change, OptionState current) {
        if (!(change instanceof Change.Family family)) {
            return null;
        }
        Map<String, String> there = current.columnFamilies.getOrDefault(family.columnFamily(), Map.of());
        for (OptionOrder order : ALL) {
            Hindrance found = order.conflict(family.options(), there);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    private Hindrance conflict(Map<String, String> changed, Map<String, String> there) {
        String low = changed.getOrDefault(lower, there.get(lower));
        String high = changed.getOrDefault(upper, there.get(upper));
        boolean concerned = changed.containsKey(lower) || changed.containsKey(upper);
        if (!concerned || low == null || high == null || Long.parseLong(low) <= Long.parseLong(high) - apart) {
            return null;
        }
        String rule = apart > 0 ? "be smaller" : "not be greater";
        return new Hindrance(lower + " would be " + low + " and " + upper + " " + high + ", and the first must " + rule
            + ", or RocksDB " + otherwise, Set.of(lower, upper));
    }
}
