package net.adocd.agent.rocksdb;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Predicate;
import java.util.stream.Stream;
import net.adocd.agent.AgentThread;

/**
 * What the hooks see: databases, handles and limiters of the host. Called on the host's threads, where it does little,
 * takes no lock that the agent holds in a call, and lets nothing through that is thrown.
 */
public final class Registry {
    private final Map<Key, HostDatabase> databases = new ConcurrentHashMap<>();
    /** Gates of handles and limiters, for their disposal. */
    private final Map<Key, Gate> watched = new ConcurrentHashMap<>();
    private final ReferenceQueue<Object> collected = new ReferenceQueue<>();
    /** Databases that the host has closed or forgotten; some were gone before they were taken up. */
    private final Queue<HostDatabase> gone = new ConcurrentLinkedQueue<>();
    /** As many as a power of two. */
    private final Probe[] probes = Stream.generate(Probe::new).limit(64).toArray(Probe[]::new);
    private final Runnable wake;
    /** Which classes report their close, too: only their objects are taken up. */
    private volatile Predicate<Class<?>> hooked = type -> true;
    private volatile boolean ended;

    /** {@code wake} wakes the thread that takes up new databases. */
    public Registry(Runnable wake) {
        this.wake = wake;
    }

    /** An object by its identity: rocksdbjni's own equals and hashCode call into RocksDB. */
    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object object, ReferenceQueue<Object> queue) {
            super(object, queue);
            hash = System.identityHashCode(object);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            if (this == other) {
                return true;
            }
            Object mine = get();
            return mine != null && other instanceof Key key && key.get() == mine;
        }
    }

    /**
     * Finds keys without allocating one: a close that the hook misses for lack of memory would meet a call of ours.
     * Reused under its own lock.
     */
    private static final class Probe {
        private Object wanted;

        synchronized <T> T find(Map<Key, T> map, Object object) {
            wanted = object;
            try {
                return map.get(this);
            } finally {
                wanted = null;
            }
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(wanted);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && key.get() == wanted;
        }
    }

    /** Takes up only objects of the classes that pass: those of which every close is reported. */
    public void trustOnly(Predicate<Class<?>> passes) {
        hooked = passes;
    }

    /** A constructor of RocksDB or a subclass ends: the database is open. */
    public void opened(Object database) {
        if (!hooked.test(database.getClass())) {
            return;
        }
        databases.putIfAbsent(new Key(database, collected), new HostDatabase(database, false));
        wake.run();
    }

    /** A method of a database that was open before the agent is called. */
    public void seen(Object database) {
        if (AgentThread.isCurrent()) {
            return;
        }
        HostDatabase found = databases.get(new Key(database, null));
        if (found != null || !hooked.test(database.getClass()) || !isOwning(database)) {
            return;
        }
        HostDatabase added = new HostDatabase(database, true);
        if (databases.putIfAbsent(new Key(database, collected), added) == null) {
            added.options = optionsOf(database);
            if (RocksApi.field(database, "ownedColumnFamilyHandles") instanceof List<?> handles) {
                List.copyOf(handles).forEach(this::handleMade);
            }
            wake.run();
        }
    }

    /** The host may have closed the options of a database that it opened long ago, or do so now. */
    private HostOptions optionsOf(Object database) {
        Object options = RocksApi.field(database, "options_");
        Gate gate = options == null ? null : watch(options);
        if (gate == null || !gate.enter()) {
            return null;
        }
        try {
            return isOwning(options) ? HostOptions.take(options, false, this::watch) : null;
        } finally {
            gate.leave();
        }
    }

    static boolean isOwning(Object object) {
        try {
            return (Boolean) object.getClass().getMethod("isOwningHandle").invoke(object);
        } catch (ReflectiveOperationException | RuntimeException unreadable) {
            return false;
        }
    }

    /** The database was opened with these options, which its host cannot have closed yet. */
    public void options(Object database, Object options) {
        HostDatabase found = databases.get(new Key(database, null));
        if (found != null && found.options == null && options != null) {
            found.options = HostOptions.take(options, true, this::watch);
            if (ended) {
                found.release();
            }
            wake.run();
        }
    }

    /** A handle of a column family was made. */
    public void handleMade(Object handle) {
        if (AgentThread.isCurrent()) {
            return;
        }
        Object database = RocksApi.field(handle, "rocksDB_");
        HostDatabase found = database == null ? null : databases.get(new Key(database, null));
        if (found == null || isDefault(found, handle)) {
            return;
        }
        Key key = new Key(handle, collected);
        if (watched.containsKey(key) || !hooked.test(handle.getClass())) { // in this order: many report each call
            return;
        }
        HostFamily family = new HostFamily(handle);
        if (watched.putIfAbsent(key, family.gate) == null) {
            found.families.put(family.gate, family);
            wake.run();
        }
    }

    private static boolean isDefault(HostDatabase database, Object handle) {
        long known = database.defaultHandle;
        return known != 0 && RocksApi.nativeHandle(handle) == known;
    }

    /** The database was opened read-only, or as a secondary instance, perhaps beside a writer of this process. */
    public void readOnly(Object database) {
        HostDatabase found = databases.get(new Key(database, null));
        if (found != null) {
            found.readOnly = true;
        }
    }

    /** The host begins to close a database; returns when no call of ours is under way. */
    public void closing(Object database) {
        HostDatabase found = probe(database).find(databases, database);
        if (found != null) {
            found.gate.close(); // before all that may lack memory
            if (databases.remove(new Key(database, null)) != null) {
                gone.add(found);
            }
            wake.run();
        }
    }

    /** The host disposes of an object; returns when no call of ours uses it. */
    public void disposing(Object object) {
        Gate gate = probe(object).find(watched, object);
        if (gate != null) {
            gate.close();
            watched.remove(new Key(object, null));
            forget(gate);
        } else {
            closing(object);
        }
    }

    private void forget(Gate gate) {
        for (HostDatabase each : databases.values()) {
            each.families.remove(gate);
        }
    }

    /** One of several, so that the host's threads hardly ever wait for each other. */
    private Probe probe(Object object) {
        return probes[System.identityHashCode(object) & probes.length - 1];
    }

    /**
     * The host begins to drop a column family, or a list of them: RocksDB would complain on stderr about a change of
     * one that is dropped. All handles of it are left alone until the drop is over.
     */
    public void dropping(Object database, Object handles) {
        gatesOf(database, handles).forEach(Gate::pause);
    }

    /** The drop is over: all handles of it are left alone from now on. */
    public void dropped(Object database, Object handles) {
        gatesOf(database, handles).forEach(Gate::close);
        wake.run();
    }

    /** The drop failed: the column family is still there. */
    public void kept(Object database, Object handles) {
        gatesOf(database, handles).forEach(Gate::resume);
    }

    private List<Gate> gatesOf(Object database, Object handles) {
        List<Gate> gates = new ArrayList<>();
        HostDatabase found = databases.get(new Key(database, null));
        if (found == null) {
            return gates;
        }
        Collection<?> named = handles instanceof Collection<?> several ? several : List.of(handles);
        for (Object handle : named) {
            Gate gate = watched.get(new Key(handle, null));
            if (gate != null) {
                gates.add(gate);
            }
            int id = idOf(found, handle);
            for (HostFamily family : found.families.values()) {
                if (id > 0 && family.id == id) {
                    gates.add(family.gate);
                }
            }
        }
        return gates;
    }

    private static int idOf(HostDatabase database, Object handle) {
        for (HostFamily family : database.families.values()) {
            if (family.handle.get() == handle) {
                return family.id;
            }
        }
        return -1;
    }

    /** Watches the disposal of an object of the host's; returns its gate. */
    private Gate watch(Object object) {
        return watched.computeIfAbsent(new Key(object, collected), key -> new Gate());
    }

    /** Returns the open databases, and forgets what the host has forgotten. */
    public List<HostDatabase> open() {
        for (Object key = collected.poll(); key != null; key = collected.poll()) {
            HostDatabase forgotten = databases.remove(key);
            if (forgotten != null) {
                gone.add(forgotten);
            }
            Gate gate = watched.remove(key);
            if (gate != null) {
                forget(gate);
            }
        }
        List<HostDatabase> found = new ArrayList<>();
        for (HostDatabase each : databases.values()) {
            if (each.isOpen()) {
                found.add(each);
            }
        }
        return found;
    }

    /** Returns the databases that this process has open for writing, by their LOCK files. */
    public static List<Path> lockedDirectories() {
        return HostFiles.lockedDirectories();
    }

    /** Returns the canonical paths of the databases that the hooks have seen. */
    public List<Path> paths() {
        List<Path> found = new ArrayList<>();
        databases.values().forEach(each -> {
            if (each.path != null) {
                found.add(each.path);
            }
        });
        return found;
    }

    /** Gives back what was taken of databases that are gone; on the sampling thread. */
    void releaseGone() {
        for (HostDatabase each = gone.poll(); each != null; each = gone.poll()) {
            each.release();
        }
    }

    /** Lets go of all that is the host's; when the hooks are out and no thread of the agent runs. */
    public void end() {
        ended = true;
        gone.addAll(databases.values());
        databases.clear();
        watched.clear();
        releaseGone();
    }

    /** At the end of the process: no call of ours begins any more. Waits at most that long for those under way. */
    public void closeAll(long milliseconds) {
        List<Gate> gates = new ArrayList<>(watched.values());
        databases.values().forEach(each -> gates.add(each.gate));
        Gate.closeAll(gates, milliseconds);
    }
}
