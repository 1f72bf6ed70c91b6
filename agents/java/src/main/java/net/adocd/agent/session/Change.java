package net.adocd.agent.session;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** One call into RocksDB, as the contract's Change. */
public sealed interface Change {
    /** DB::SetOptions. */
    record Family(String columnFamily, Map<String, String> options) implements Change {
        /** Returns the change without some of its options. */
        Family without(Set<String> names) {
            Map<String, String> rest = new LinkedHashMap<>(options);
            rest.keySet().removeAll(names);
            return new Family(columnFamily, rest);
        }
    }

    /** DB::SetDBOptions. */
    record Database(Map<String, String> options) implements Change { }

    /** RateLimiter::SetBytesPerSecond. */
    record Limiter(long bytesPerS) implements Change { }

    /** Env::SetBackgroundThreads; the pool is low, high or bottom. */
    record Pool(String pool, int threads) implements Change { }

    /** Returns the contract's scope. */
    default String scope() {
        if (this instanceof Family) {
            return "column_family";
        }
        if (this instanceof Database) {
            return "database";
        }
        return this instanceof Limiter ? "rate_limiter" : "thread_pool";
    }

    /** Returns the column family or the pool, else "". */
    default String where() {
        if (this instanceof Family family) {
            return family.columnFamily();
        }
        return this instanceof Pool pool ? pool.pool() : "";
    }

    /** Returns what the change sets, by name. */
    default Map<OptionName, String> wanted() {
        Map<String, String> values = Collections.emptyMap();
        if (this instanceof Family family) {
            values = family.options();
        } else if (this instanceof Database database) {
            values = database.options();
        } else if (this instanceof Limiter limiter) {
            values = Map.of("bytes_per_s", Long.toString(limiter.bytesPerS()));
        } else if (this instanceof Pool pool) {
            values = Map.of("threads", Integer.toString(pool.threads()));
        }
        Map<OptionName, String> named = new LinkedHashMap<>();
        values.forEach((option, value) -> named.put(new OptionName(scope(), where(), option), value));
        return named;
    }

    /** Describes the change in a few words, for events and errors. */
    default String describe() {
        String values = wanted().entrySet().stream()
            .map(each -> each.getKey().option() + "=" + each.getValue())
            .collect(Collectors.joining(", "));
        return scope() + (where().isEmpty() ? " " : " " + where() + " ") + values;
    }
}
