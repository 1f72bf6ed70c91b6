package net.adocd.agent.session;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The type of an option's value: how RocksDB writes it, and for whole numbers the range.
 *
 * <p>RocksDB parses numbers like C: "12x" is 12, "1e7" is 1, "-5" is 2^64-5. So the agent accepts exactly what RocksDB
 * would write back.
 */
public record OptionKind(Pattern pattern, BigInteger low, BigInteger high) {
    private static final Pattern WHOLE = Pattern.compile("0|-?[1-9][0-9]{0,19}");

    /** size_t and uint64_t. */
    public static final OptionKind SIZE = whole(BigInteger.ZERO, power(64));
    /** int. */
    public static final OptionKind INT = whole(power(31).add(BigInteger.ONE).negate(), power(31));
    /** int64_t. */
    public static final OptionKind INT64 = whole(power(63).add(BigInteger.ONE).negate(), power(63));
    /** uint32_t. */
    public static final OptionKind UINT32 = whole(BigInteger.ZERO, power(32));
    /** uint8_t. */
    public static final OptionKind UINT8 = whole(BigInteger.ZERO, power(8));
    /** A number of files: with less RocksDB holds writes for good, and what would put it back waits behind them. */
    public static final OptionKind FILES = whole(BigInteger.ONE, power(31));
    /** A number of memtables, for the same reason. */
    public static final OptionKind MEMTABLES = whole(BigInteger.TWO, power(31));
    /** RocksDB asserts that no level's target is 0 (VersionStorageInfo::CalculateBaseBytes). */
    public static final OptionKind LEVEL_BASE = whole(BigInteger.ONE, power(64));
    /** A number of threads that RocksDB starts at once: the protocol limits it. */
    public static final OptionKind JOBS = range(1, 1024);
    /** The same, where -1 means that max_background_jobs applies. */
    public static final OptionKind JOBS_OR_AUTOMATIC = range(-1, 1024);
    /** 0 means "the default" only at open; set live it means about 1 byte/s (db/write_controller.cc). */
    public static final OptionKind DELAYED_RATE = whole(BigInteger.ONE, power(64));
    /** bool. */
    public static final OptionKind BOOL = oneOf("true", "false");
    /** double, with six decimals. */
    public static final OptionKind DOUBLE = matching("(0|[1-9][0-9]{0,14})\\.[0-9]{6}");
    /** RocksDB asserts that no level's target is smaller than that of the level above (VersionStorageInfo::SetFinalized). */
    public static final OptionKind MULTIPLIER = matching("[1-9][0-9]{0,14}\\.[0-9]{6}");
    /** Positive numbers with colons between them. */
    public static final OptionKind INTS = matching("[1-9][0-9]{0,8}(:[1-9][0-9]{0,8}){0,100}");
    /** A time of day range in UTC, or nothing. */
    public static final OptionKind OFFPEAK = matching("|([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]");

    /** Returns the kind of an enumeration. */
    public static OptionKind oneOf(String... names) {
        return matching(Arrays.stream(names).map(Pattern::quote).collect(Collectors.joining("|")));
    }

    private static OptionKind matching(String pattern) {
        return new OptionKind(Pattern.compile(pattern), null, null);
    }

    private static OptionKind whole(BigInteger low, BigInteger high) {
        return new OptionKind(WHOLE, low, high);
    }

    private static OptionKind range(long low, long high) {
        return whole(BigInteger.valueOf(low), BigInteger.valueOf(high));
    }

    private static BigInteger power(int bits) {
        return BigInteger.TWO.pow(bits).subtract(BigInteger.ONE);
    }

    /** Tells whether RocksDB would read the value exactly as written: no suffix, no exponent, no wrap-around. */
    public boolean accepts(String value) {
        if (!pattern.matcher(value).matches()) {
            return false;
        }
        if (low == null) {
            return true;
        }
        BigInteger number = new BigInteger(value);
        return number.compareTo(low) >= 0 && number.compareTo(high) <= 0;
    }
}
