package net.adocd.agent.session;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** What an agent, or one of its databases, can do: the contract's Capabilities. */
public record Capabilities(
    Collection<String> columnFamilyOptions,
    Collection<String> databaseOptions,
    boolean rateLimiter,
    List<String> threadPools,
    String statistics) {

    /**
     * Writes it as the contract does. Events are those of lease, restore and changes alone: a listener in Java would
     * keep the host from ending (facebook/rocksdb#13502), so there is nothing to wait for either.
     */
    public Map<String, Object> asJson() {
        Map<String, Object> written = new LinkedHashMap<>();
        written.put("column_family_options", new TreeSet<>(columnFamilyOptions));
        written.put("database_options", new TreeSet<>(databaseOptions));
        written.put("rate_limiter", rateLimiter);
        written.put("lifts_rate_limit", rateLimiter);
        written.put("thread_pools", threadPools);
        written.put("events", List.of("database"));
        written.put("statistics", statistics);
        written.put("write_latency", "none");
        written.put("waits_for", List.of());
        written.put("responds_during_stall", true);
        return written;
    }
}
