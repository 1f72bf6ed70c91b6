package net.adocd.agent.session;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/** All values that a change can set, as RocksDB writes them. Not safe for several threads. */
public final class OptionState {
    /** By column family, by option. */
    public final Map<String, Map<String, String>> columnFamilies = new TreeMap<>();
    /** RocksDB's ids of the column families by name: one that was dropped and created again has another. */
    public final Map<String, Integer> familyIds = new TreeMap<>();
    /** By option. */
    public final Map<String, String> database = new TreeMap<>();
    /** Null without a limiter. */
    public Long limiterBytesPerS;
    /** Threads by pool. */
    public final Map<String, Integer> threadPools = new LinkedHashMap<>();

    /** Returns an independent copy as the contract's OptionValues. */
    public Map<String, Object> asJson() {
        Map<String, Object> families = new LinkedHashMap<>();
        columnFamilies.forEach((name, options) -> families.put(name, new LinkedHashMap<>(options)));
        Map<String, Object> written = new LinkedHashMap<>();
        written.put("database", new LinkedHashMap<>(database));
        written.put("column_families", families);
        written.put("rate_limiter_bytes_per_s", limiterBytesPerS);
        written.put("thread_pools", new LinkedHashMap<>(threadPools));
        return written;
    }

    /** Returns the value of one option, null where it is not there. */
    public String get(OptionName name) {
        Object found = switch (name.scope()) {
            case "column_family" -> columnFamilies.getOrDefault(name.where(), Map.of()).get(name.option());
            case "database" -> database.get(name.option());
            case "rate_limiter" -> limiterBytesPerS;
            default -> threadPools.get(name.where());
        };
        return found == null ? null : found.toString();
    }

    /** Sets one option. */
    public void put(OptionName name, String value) {
        switch (name.scope()) {
            case "column_family" -> columnFamilies.get(name.where()).put(name.option(), value);
            case "database" -> database.put(name.option(), value);
            case "rate_limiter" -> limiterBytesPerS = Long.valueOf(value);
            default -> threadPools.put(name.where(), Integer.valueOf(value));
        }
    }

    /** Returns the values of the options that a change names, by option name. */
    public Map<String, String> readBack(Change change) {
        Map<String, String> values = new LinkedHashMap<>();
        for (OptionName name : change.wanted().keySet()) {
            String value = get(name);
            if (value != null) {
                values.put(name.option(), value);
            }
        }
        return values;
    }
}
