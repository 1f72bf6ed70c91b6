package net.adocd.agent.session;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.DoubleSupplier;

/** The newest sample of one session, for all clients: taken on the sampling thread and never by a request. */
public final class SnapshotCache {
    /** Measures the database. */
    @FunctionalInterface
    public interface Measurement {
        /** Takes a sample. */
        Map<String, Object> take() throws DatabaseClosedException;
    }

    private static final double MAX_AGE_S = 0.05;
    private static final double WAIT_S = 0.2;
    /** For the first sample, where there is no old one to answer with, and the JVM still loads classes for it. */
    private static final double FIRST_WAIT_S = 2.0;

    private final Measurement measurement;
    private final DoubleSupplier clock;
    private final Runnable wake;
    private Map<String, Object> newest;
    private double takenS;
    private long sequence;
    private boolean closed;
    private volatile boolean wanted;

    /** Makes an empty one; {@code wake} wakes the sampling thread. */
    public SnapshotCache(Measurement measurement, DoubleSupplier clock, Runnable wake) {
        this.measurement = measurement;
        this.clock = clock;
        this.wake = wake;
    }

    /** Returns a fresh sample, or after a short wait the old one. */
    public synchronized Map<String, Object> get() {
        if (!closed && isOld()) {
            wanted = true;
            wake.run();
            waitForNew();
        }
        if (closed) {
            throw Refusal.databaseClosed();
        }
        if (newest == null) {
            throw new Refusal(503, "unavailable", "No snapshot could be taken yet; try again.");
        }
        return newest;
    }

    private void waitForNew() {
        double untilS = clock.getAsDouble() + (newest == null ? FIRST_WAIT_S : WAIT_S);
        try {
            while (!closed && isOld()) {
                long leftMs = (long) Math.ceil((untilS - clock.getAsDouble()) * 1000);
                if (leftMs <= 0) {
                    return;
                }
                wait(leftMs);
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    /** Takes a new sample if one was requested; on the sampling thread. */
    public void refresh() throws DatabaseClosedException {
        if (!wanted) {
            return;
        }
        wanted = false;
        synchronized (this) {
            if (!isOld()) { // asked for while the newest was being taken
                return;
            }
        }
        double begunS = clock.getAsDouble();
        Map<String, Object> taken = new LinkedHashMap<>(measurement.take());
        double nowS = clock.getAsDouble();
        synchronized (this) {
            sequence++;
            taken.put("sequence", sequence);
            taken.put("monotonic_s", nowS);
            taken.put("collect_s", nowS - begunS);
            newest = taken;
            takenS = nowS;
            notifyAll();
        }
    }

    /** Returns the properties of each column family that the newest sample has. */
    @SuppressWarnings("unchecked")
    public synchronized Map<String, Set<String>> readable() {
        Map<String, Set<String>> names = new HashMap<>();
        if (newest != null) {
            ((Map<String, Map<String, Map<String, Object>>>) newest.get("column_families"))
                .forEach((family, members) -> names.put(family, members.get("properties").keySet()));
        }
        return names;
    }

    /** Releases all that wait. */
    public synchronized void close() {
        closed = true;
        notifyAll();
    }

    private boolean isOld() {
        return newest == null || clock.getAsDouble() - takenS > MAX_AGE_S;
    }
}
