package net.adocd.agent.rocksdb;

import java.util.Map;
import java.util.TreeMap;
import net.adocd.agent.session.DatabaseClosedException;

/** The host's handles of one database's column families, each behind its gate. */
final class FamilyHandles {
    private final Map<Gate, HostFamily> families;
    private final RocksApi api;

    /** Something that is done with a handle. */
    @FunctionalInterface
    interface Use<T> {
        T run(Object handle) throws RocksApi.RocksError, DatabaseClosedException;
    }

    FamilyHandles(Map<Gate, HostFamily> families, RocksApi api) {
        this.families = families;
        this.api = api;
    }

    /**
     * Returns the handles that can be used, but for those of the default column family, by its name. Reads the names of
     * new ones, so the caller holds the database's gate.
     */
    Map<String, HostFamily> byName() throws DatabaseClosedException {
        Map<String, HostFamily> found = new TreeMap<>();
        for (HostFamily family : families.values()) {
            if (family.gate.isClosed() || family.handle.get() == null) {
                families.remove(family.gate);
            } else if (nameOf(family) != null && family.id != 0) {
                found.putIfAbsent(family.name, family);
            }
        }
        return found;
    }

    private String nameOf(HostFamily family) throws DatabaseClosedException {
        if (family.name == null) {
            try {
                family.name = with(family, null, handle -> {
                    family.id = api.handleId(handle);
                    return api.handleName(handle);
                });
            } catch (RocksApi.RocksError unreadable) {
                return null;
            }
        }
        return family.name;
    }

    /** Tells whether the host is dropping a column family, which may fail. */
    boolean isBeingDropped(String name) {
        return families.values().stream().anyMatch(each -> name.equals(each.name) && each.gate.isPaused());
    }

    /** Runs something with a handle; returns {@code otherwise} where there is none or the host has disposed of it. */
    <T> T with(HostFamily family, T otherwise, Use<T> work) throws RocksApi.RocksError, DatabaseClosedException {
        if (family == null || !family.gate.enter()) {
            return otherwise;
        }
        try {
            Object handle = family.handle.get();
            return handle == null || !api.isOwning(handle) ? otherwise : work.run(handle);
        } finally {
            family.gate.leave();
        }
    }
}
