package net.adocd.agent.rocksdb;

import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A database object of the host's, as the hooks saw it. */
public final class HostDatabase {
    /** Weak: what the host forgets is collected as it would be without the agent. */
    final WeakReference<Object> object;
    /** Closed when the host closes the database. */
    final Gate gate = new Gate();
    /** When the agent saw it first, in nanoseconds of CLOCK_MONOTONIC. */
    final long seenNs = System.nanoTime();
    /** Whether it was open before the agent came. */
    final boolean openedBeforeAgent;
    /**
     * The handles that the host made, by their gates, without those that it disposed of or forgot. There can be many:
     * before rocksdbjni 9, each call of getDefaultColumnFamily makes one.
     */
    final Map<Gate, HostFamily> families = new ConcurrentHashMap<>();
    /** Where RocksDB has the default column family's handle, whose objects the agent does not need; 0: not known. */
    volatile long defaultHandle;
    /** What the host opened it with; null until it is known. */
    volatile HostOptions options;
    /** Whether the host opened it only for reading; noted a moment after the open. */
    volatile boolean readOnly;
    /** Its canonical path; null until the sampling thread has read it. */
    volatile Path path;

    HostDatabase(Object object, boolean openedBeforeAgent) {
        this.object = new WeakReference<>(object);
        this.openedBeforeAgent = openedBeforeAgent;
    }

    /** Tells whether the host still has it open. */
    boolean isOpen() {
        return !gate.isClosed() && object.get() != null;
    }

    /** Gives back what the agent took of the options; when nobody reads them any more. */
    void release() {
        HostOptions taken = options;
        if (taken != null) {
            taken.release();
        }
    }
}
