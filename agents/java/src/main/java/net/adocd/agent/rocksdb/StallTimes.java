package net.adocd.agent.rocksdb;

import java.util.LinkedHashMap;
import java.util.Map;

/** The stall condition, from polling two properties ten times a second. Not for several threads at once. */
final class StallTimes {
    private static final String NORMAL = "normal";
    private static final String DELAYED = "delayed";
    private static final String STOPPED = "stopped";

    private String condition = NORMAL;
    private double sinceS;
    private double lookedS;
    private double stoppedS;
    private double delayedS;

    /** Begins at this time in seconds of CLOCK_MONOTONIC. */
    StallTimes(double nowS) {
        sinceS = nowS;
        lookedS = nowS;
    }

    /** Counts the time since the last look for the condition found then, and notes the one found now. */
    void look(double nowS, boolean stopped, boolean delayed) {
        double gapS = nowS - lookedS;
        if (condition.equals(STOPPED)) {
            stoppedS += gapS;
        } else if (condition.equals(DELAYED)) {
            delayedS += gapS;
        }
        lookedS = nowS;
        String found = stopped ? STOPPED : delayed ? DELAYED : NORMAL;
        if (!found.equals(condition)) {
            condition = found;
            sinceS = nowS;
        }
    }

    /** Writes it as the contract's Stall, as of the last look. */
    Map<String, Object> asJson() {
        Map<String, Object> written = new LinkedHashMap<>();
        written.put("condition", condition);
        written.put("since_monotonic_s", sinceS);
        written.put("stopped_s", stoppedS);
        written.put("delayed_s", delayedS);
        return written;
    }
}
