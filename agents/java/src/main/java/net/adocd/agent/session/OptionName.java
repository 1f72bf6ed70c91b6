package net.adocd.agent.session;

import java.util.Comparator;

/**
 * What a change touches.
 *
 * @param scope the contract's scope of a change
 * @param where the column family or the pool, else ""
 * @param option the option's name; {@code bytes_per_s} for the rate limiter, {@code threads} for a pool
 */
public record OptionName(String scope, String where, String option) implements Comparable<OptionName> {
    private static final Comparator<OptionName> ORDER =
        Comparator.comparing(OptionName::scope).thenComparing(OptionName::where).thenComparing(OptionName::option);

    @Override
    public int compareTo(OptionName other) {
        return ORDER.compare(this, other);
    }
}
