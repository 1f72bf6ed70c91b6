package net.adocd.agent.session;

import java.util.Collection;
import java.util.Map;

/** One open of one database, as a session needs it. Any method may be called from any thread. */
public interface Database {
    /** Returns the canonical path. */
    String path();

    /** Returns the contents of the IDENTITY file. */
    String identity();

    /** Returns when the agent first saw it open, in seconds of CLOCK_MONOTONIC. */
    double openedMonotonicS();

    /** Returns which options exist here, and their kinds. */
    Catalogue catalogue();

    /** Tells whether the host still has it open; cheap. */
    boolean isOpen();

    /** Returns what can be done with this database. */
    Capabilities capabilities();

    /** Returns the optional members of the contract's Database. */
    Map<String, Object> describe() throws DatabaseClosedException;

    /** Reads the current values; {@code fresh}: not from a cache. */
    OptionState readOptions(boolean fresh) throws DatabaseClosedException;

    /** Reads the values from before any lease of this process changed one. */
    OptionState readOriginals() throws DatabaseClosedException;

    /** Returns a snapshot's members about the database, from stall to column_families; on the sampling thread. */
    Map<String, Object> measure() throws DatabaseClosedException;

    /** Looks at the stall condition; on the sampling thread, ten times a second. */
    void look() throws DatabaseClosedException;

    /** Returns an integer property of the column family of this name and id, null where it cannot be read. */
    Long propertyValue(String columnFamily, int id, String name) throws DatabaseClosedException;

    /** Returns what a change must not be made before, in words that follow "Not executed:"; null if nothing. */
    String obstacle(Change change);

    /** Makes one call into RocksDB; returns RocksDB's words if it fails, else null. */
    String call(Change change) throws DatabaseClosedException;

    /** Sets the rate limit if it is {@code from} now; tells whether it did. Both are bytes a second. */
    boolean turnLimiter(long from, long to);

    /**
     * Releases the database. Of {@code changed}, what outlives the database and is still as it was last set is set back
     * to its original.
     */
    void end(Collection<OptionName> changed, OptionState originals);
}
