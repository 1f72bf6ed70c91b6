package net.adocd.examples.flink;

import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/** Counts the puts of all subtasks: a mini cluster's task manager runs in the process of the program. */
final class Puts {
    private static final LongAdder COUNT = new LongAdder();
    private static final LongAccumulator LONGEST_NS = new LongAccumulator(Math::max, 0);

    private Puts() { }

    static void took(long ns) {
        COUNT.increment();
        LONGEST_NS.accumulate(ns);
    }

    static long count() {
        return COUNT.sum();
    }

    /** Returns the longest since the last call of this, in nanoseconds. */
    static long longestNs() {
        return LONGEST_NS.getThenReset();
    }
}
