package net.adocd.agent.rocksdb;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import net.adocd.agent.session.DatabaseClosedException;
import net.adocd.agent.session.Session;

/** The sessions of this process: one for each database that the hooks saw, taken up on the sampling thread. */
public final class Databases {
    /** How long a database that has just been opened may lack its options before it is taken up without them (ns). */
    private static final long OPTIONS_WAIT_NS = 5_000_000_000L;

    private final Registry registry;
    private final String hostName;
    private final Runnable wake;
    private final Map<HostDatabase, Session> sessions = new ConcurrentHashMap<>();
    /** Those that cannot be served, so that nothing is tried twice. */
    private final Set<HostDatabase> refused = new HashSet<>();
    /** Weak both ways: classes keep their loader, which the host may want to unload. Sessions keep what they use. */
    private final Map<ClassLoader, WeakReference<RocksApi>> apis = new WeakHashMap<>();
    private volatile String rocksdbVersion = "";

    /** {@code wake} wakes the sampling thread. */
    public Databases(Registry registry, String hostName, Runnable wake) {
        this.registry = registry;
        this.hostName = hostName;
        this.wake = wake;
    }

    /**
     * Returns the sessions, in the order in which the agent saw their databases. Read-only instances come last: they
     * have the id of their writer, if that is here, too.
     */
    public List<Session> sessions() {
        Comparator<Session> byAge = Comparator.comparingDouble(each -> each.database.openedMonotonicS());
        List<Session> found = new ArrayList<>();
        List<Session> readers = new ArrayList<>();
        sessions.forEach((host, session) -> (host.readOnly ? readers : found).add(session));
        found.sort(byAge);
        readers.sort(byAge);
        found.addAll(readers);
        return found;
    }

    /** Returns the version of the first RocksDB that opened a database, "" before. */
    public String rocksdbVersion() {
        return rocksdbVersion;
    }

    /** Ends the sessions of databases that closed and begins those of new ones; on the sampling thread. */
    public void update() {
        sessions.forEach((host, session) -> {
            if (!host.isOpen()) {
                session.close();
                sessions.remove(host);
            }
        });
        List<HostDatabase> open = registry.open();
        registry.releaseGone();
        refused.retainAll(open);
        for (HostDatabase host : open) {
            if (!sessions.containsKey(host) && !refused.contains(host) && isReady(host)) {
                begin(host);
            }
        }
    }

    /** Tells whether the host has a database open that could not be taken up yet; on the sampling thread. */
    public boolean isIncomplete() {
        return registry.open().stream().anyMatch(each -> !sessions.containsKey(each) && !refused.contains(each));
    }

    /** Ends all sessions; as the last thing that the sampling thread does. */
    public void end() {
        sessions.values().forEach(Session::close);
        sessions.clear();
    }

    private static boolean isReady(HostDatabase host) {
        return host.openedBeforeAgent || host.options != null || System.nanoTime() - host.seenNs > OPTIONS_WAIT_NS;
    }

    private void begin(HostDatabase host) {
        try {
            RocksDatabase database = open(host);
            String id = Identity.of(hostName, database.path(), database.identity());
            String name = UUID.randomUUID().toString().replace("-", "");
            if (rocksdbVersion.isEmpty()) {
                rocksdbVersion = database.rocksdbVersion();
            }
            sessions.put(host, new Session(database, id, name, () -> System.nanoTime() / 1e9, wake));
        } catch (DatabaseClosedException closed) {
            // An object that stands for a database of another one, as RocksDB's listeners in Java are given.
            Object db = host.object.get();
            if (host.isOpen() && db != null && !Registry.isOwning(db)) {
                refused.add(host);
            }
        } catch (IOException | ReflectiveOperationException | RocksApi.RocksError | RuntimeException
                | LinkageError unknown) {
            refused.add(host);
        }
    }

    private RocksDatabase open(HostDatabase host)
            throws DatabaseClosedException, IOException, ReflectiveOperationException, RocksApi.RocksError {
        if (!host.gate.enter()) {
            throw new DatabaseClosedException();
        }
        try {
            Object db = host.object.get();
            if (db == null) {
                throw new DatabaseClosedException();
            }
            RocksApi api = apiOf(db.getClass().getClassLoader());
            return new RocksDatabase(host, api, poolsOf(host.options, api));
        } finally {
            host.gate.leave();
        }
    }

    /** Returns that of a class loader; one for all its databases, because it knows the pools before any lease. */
    private RocksApi apiOf(ClassLoader loader) throws ReflectiveOperationException {
        WeakReference<RocksApi> known = apis.get(loader);
        RocksApi api = known == null ? null : known.get();
        if (api == null) {
            api = new RocksApi(loader);
            apis.put(loader, new WeakReference<>(api));
        }
        return api;
    }

    private static ThreadPools poolsOf(HostOptions options, RocksApi api) {
        return options == null || !options.usesDefaultEnv() ? null : api.pools(options.defaultEnv());
    }
}
