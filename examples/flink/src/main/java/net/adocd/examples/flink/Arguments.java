package net.adocd.examples.flink;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** The options of the command line; {@code seconds} is 0 for until stopped, and a rate is 0 for no limit. */
record Arguments(
    Path directory, long seconds, int stores, long recordsPerS, int valueBytes, long rateLimiterBytesPerS) {

    private static final Map<String, String> DEFAULTS = Map.of(
        "--directory", Path.of(System.getProperty("user.home"), "adocd-payments").toString(),
        "--seconds", "0",
        "--stores", "1",
        "--records-per-s", "0",
        "--value-bytes", "500",
        "--rate-limiter", "32000000");

    /** Throws IllegalArgumentException, with a sentence for the user, where an option or its value is none. */
    static Arguments of(String... words) {
        Map<String, String> given = new TreeMap<>(DEFAULTS);
        for (int i = 0; i < words.length; i += 2) {
            if (!DEFAULTS.containsKey(words[i])) {
                throw new IllegalArgumentException(
                    words[i] + " is no option; there are " + String.join(", ", given.keySet()) + ".");
            }
            if (i + 1 == words.length) {
                throw new IllegalArgumentException(words[i] + " needs a value after it.");
            }
            given.put(words[i], words[i + 1]);
        }
        return new Arguments(
            Path.of(given.get("--directory")).toAbsolutePath(),
            number(given, "--seconds", 0, 1_000_000_000),
            (int) number(given, "--stores", 1, 1000),
            number(given, "--records-per-s", 0, 1_000_000_000),
            (int) number(given, "--value-bytes", 1, 1_000_000),
            number(given, "--rate-limiter", 0, Long.MAX_VALUE));
    }

    private static long number(Map<String, String> given, String option, long least, long most) {
        try {
            long value = Long.parseLong(given.get(option));
            if (least <= value && value <= most) {
                return value;
            }
        } catch (NumberFormatException none) {
            // said below
        }
        throw new IllegalArgumentException(String.format(
            "%s takes a whole number from %d to %d, not %s.", option, least, most, given.get(option)));
    }
}
