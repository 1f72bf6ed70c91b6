package net.adocd.examples.orders;

import java.nio.file.Path;
import java.util.List;

/**
 * What the command line says.
 *
 * @param seconds how long to run after the first record; 0: until Ctrl-C or SIGTERM
 * @param recordsPerS the producer's pace; 0: as fast as it can
 * @param rateLimiterBytesPerS what RocksDB's flushes and compactions may write together; 0: any amount
 */
record Options(Path directory, long seconds, int stores, long recordsPerS, int valueBytes, long rateLimiterBytesPerS) {
    private static final List<String> NAMES =
            List.of("--directory", "--seconds", "--stores", "--records-per-s", "--value-bytes", "--rate-limiter");

    /** Thrown with one sentence for the user. */
    static final class BadOptionException extends Exception {
        private static final long serialVersionUID = 1L;

        BadOptionException(String sentence) {
            super(sentence);
        }
    }

    /** Parses `--name value` and `--name=value`. */
    static Options parse(String[] arguments) throws BadOptionException {
        String home = System.getenv().getOrDefault("HOME", System.getProperty("user.home"));
        Path directory = Path.of(home, "adocd-orders").toAbsolutePath();
        long[] numbers = {0, 1, 0, 500, 16_000_000};
        long[][] bounds = {{1, 1_000_000}, {1, 1000}, {0, 10_000_000}, {1, 100_000}, {0, 1_000_000_000_000L}};
        for (int at = 0; at < arguments.length; at++) {
            String[] pair = arguments[at].split("=", 2);
            int option = NAMES.indexOf(pair[0]);
            if (option < 0) {
                throw new BadOptionException(pair[0] + " is no option; these are: " + String.join(", ", NAMES));
            }
            if (pair.length == 1 && at + 1 == arguments.length) {
                throw new BadOptionException(pair[0] + " needs a value");
            }
            String value = pair.length == 2 ? pair[1] : arguments[++at];
            if (option > 0) {
                numbers[option - 1] = number(pair[0], value, bounds[option - 1]);
            } else if (value.isEmpty()) {
                throw new BadOptionException("--directory needs a value");
            } else {
                directory = Path.of(value).toAbsolutePath();
            }
        }
        return new Options(directory, numbers[0], (int) numbers[1], numbers[2], (int) numbers[3], numbers[4]);
    }

    private static long number(String option, String value, long[] bounds) throws BadOptionException {
        if (value.matches("[0-9]{1,18}")) {
            long parsed = Long.parseLong(value);
            if (bounds[0] <= parsed && parsed <= bounds[1]) {
                return parsed;
            }
        }
        throw new BadOptionException(
                option + " is a whole number from " + bounds[0] + " to " + bounds[1] + ", not " + value);
    }

    /** Topic partitions, hence tasks: the most that divide the stores evenly, and 30 at most. */
    int partitions() {
        int most = Math.min(stores, 30);
        while (stores % most != 0) {
            most--;
        }
        return most;
    }

    /** State stores of each task; each is a RocksDB database. */
    int storesPerTask() {
        return stores / partitions();
    }
}
