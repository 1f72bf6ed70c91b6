package net.adocd.agent.rocksdb;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import net.adocd.agent.session.Capabilities;
import net.adocd.agent.session.Catalogue;
import net.adocd.agent.session.Change;
import net.adocd.agent.session.Database;
import net.adocd.agent.session.DatabaseClosedException;
import net.adocd.agent.session.OptionName;
import net.adocd.agent.session.OptionState;

/**
 * A RocksDB that the host opened with rocksdbjni. Every call goes through the gate of the database, and through that of
 * the column family's handle, so that none meets a close.
 */
public final class RocksDatabase implements Database {
    private static final String DEFAULT = "default";
    private static final String STOPPED = "rocksdb.is-write-stopped";
    private static final String DELAYED_RATE = "rocksdb.actual-delayed-write-rate";
    private static final List<String> PROPERTIES = List.of(
        STOPPED, DELAYED_RATE, "rocksdb.num-running-flushes", "rocksdb.num-running-compactions",
        "rocksdb.background-errors");

    private static final Pattern CUMULATIVE_STALL =
        Pattern.compile("(?m)^Cumulative stall: (\\d+):(\\d+):(\\d+)\\.(\\d+) H:M:S");

    private final HostDatabase host;
    private final RocksApi api;
    private final ThreadPools pools;
    /** Weak: a handle keeps its database, which the host may forget. */
    private WeakReference<Object> defaultHandle = new WeakReference<>(null);
    private final FamilyHandles handles;
    private final Path path;
    private final String identity;
    private final boolean locked;
    private final OptionsReader file;
    private final Catalogue catalogue;
    private final Path logPath;
    private final Path walDir;
    private final Map<String, Integer> originalsOfPools = new LinkedHashMap<>();
    /** What was last set of the thread pools and the limiter, which others can set too. */
    private final Map<OptionName, String> lastSet = new ConcurrentHashMap<>();
    private final StallTimes stalls;
    private final Map<String, FamilyMeasurements> families = new ConcurrentHashMap<>();
    private final FamilyMeasurements databaseWide;
    private final Map<String, Long> countersAtOpen;
    private final long sequenceAtOpen;

    /** Something that is done inside the database. */
    @FunctionalInterface
    private interface Inside<T> {
        T run(Object db) throws RocksApi.RocksError, DatabaseClosedException;
    }

    /** Takes up a database that opened. Throws IOException if it cannot be served, for example without an IDENTITY. */
    RocksDatabase(HostDatabase host, RocksApi api, ThreadPools pools)
            throws DatabaseClosedException, IOException, RocksApi.RocksError {
        this.host = host;
        this.api = api;
        this.pools = pools;
        inside(this::defaultHandle);
        this.handles = new FamilyHandles(host.families, api);
        this.path = HostFiles.canonical(Path.of(inside(api::path)));
        host.path = path;
        this.identity = Files.readString(path.resolve("IDENTITY"), StandardCharsets.UTF_8).strip();
        this.locked = HostFiles.hasLock(path);
        this.file = new OptionsReader(path);
        OptionsFile found = file.read(true);
        this.catalogue = LiveOptions.of(found);
        this.logPath = HostFiles.logPath(path, found.database().getOrDefault("db_log_dir", ""));
        String wal = found.database().getOrDefault("wal_dir", "");
        this.walDir = wal.isEmpty() ? path : HostFiles.canonical(Path.of(wal));
        this.stalls = new StallTimes(System.nanoTime() / 1e9);
        this.databaseWide = new FamilyMeasurements(api);
        this.countersAtOpen = host.options == null ? Map.of() : host.options.countersAtOpen();
        this.sequenceAtOpen = inside(api::sequence);
        if (pools != null && isWritable()) {
            originalsOfPools.putAll(pools.originals());
        }
    }

    /** Runs something inside the database: only while the host has it open, and keeps it open until it ends. */
    private <T> T inside(Inside<T> work) throws RocksApi.RocksError, DatabaseClosedException {
        if (!host.gate.enter()) {
            throw new DatabaseClosedException();
        }
        try {
            Object db = host.object.get();
            if (db == null || !api.isOwning(db)) {
                throw new DatabaseClosedException();
            }
            return work.run(db);
        } finally {
            host.gate.leave();
        }
    }

    private synchronized Object defaultHandle(Object db) throws RocksApi.RocksError {
        Object handle = defaultHandle.get();
        if (handle == null) {
            handle = api.defaultHandle(db);
            defaultHandle = new WeakReference<>(handle);
            host.defaultHandle = RocksApi.nativeHandle(handle);
        }
        return handle;
    }

    /** The LOCK that this process holds may be that of another instance. */
    private boolean isWritable() {
        return locked && !host.readOnly;
    }

    /** Runs something with the handle of a column family, by name; {@code otherwise} where there is none. */
    private <T> T insideFamily(Object db, String name, T otherwise, FamilyHandles.Use<T> work)
            throws RocksApi.RocksError, DatabaseClosedException {
        return name.equals(DEFAULT)
            ? work.run(defaultHandle(db)) : handles.with(handles.byName().get(name), otherwise, work);
    }

    /** Returns the column families that can be reached: RocksDB's ids by name. */
    private Map<String, Integer> reachable() throws DatabaseClosedException {
        Map<String, Integer> ids = new TreeMap<>(Map.of(DEFAULT, 0));
        try {
            inside(db -> handles.byName()).forEach((name, family) -> ids.put(name, family.id));
        } catch (RocksApi.RocksError unreadable) {
            return ids;
        }
        return ids;
    }

    // --- what it is -------------------------------------------------------------------------------------------

    @Override
    public String path() {
        return path.toString();
    }

    @Override
    public String identity() {
        return identity;
    }

    @Override
    public double openedMonotonicS() {
        return host.seenNs / 1e9;
    }

    @Override
    public Catalogue catalogue() {
        return catalogue;
    }

    @Override
    public boolean isOpen() {
        return host.isOpen();
    }

    /** Returns RocksDB's version. */
    String rocksdbVersion() throws DatabaseClosedException {
        return file.read(false).rocksdbVersion();
    }

    /** A read-only or secondary instance, which shares a writer's directory, cannot be changed. */
    @Override
    public Capabilities capabilities() {
        HostOptions options = host.options;
        String statistics = options == null ? "none" : options.statisticsLevel();
        if (!isWritable()) {
            return new Capabilities(Set.of(), Set.of(), false, List.of(), statistics);
        }
        return new Capabilities(
            catalogue.columnFamily().keySet(), catalogue.database().keySet(), limiterRate() != null,
            pools == null ? List.of() : RocksApi.POOLS, statistics);
    }

    @Override
    public Map<String, Object> describe() throws DatabaseClosedException {
        Set<String> unseen = new TreeSet<>(file.read(false).columnFamilies().keySet());
        unseen.removeAll(reachable().keySet());
        Map<String, Object> written = new LinkedHashMap<>();
        written.put("log_path", logPath.toString());
        written.put("wal_dir", walDir.toString());
        written.put("added_options", Map.of());
        written.put("unseen_column_families", unseen);
        written.put("opened_before_agent", host.openedBeforeAgent);
        return written;
    }

    @Override
    public OptionState readOptions(boolean fresh) throws DatabaseClosedException {
        if (!isOpen()) {
            throw new DatabaseClosedException();
        }
        // Before the file: values of an earlier column family must not count for a new one of its name.
        Map<String, Integer> ids = reachable();
        OptionsFile found = file.read(fresh);
        ids.keySet().retainAll(found.columnFamilies().keySet());
        OptionState state = new OptionState();
        state.familyIds.putAll(ids);
        Set<String> shown = new TreeSet<>(LiveOptions.DECIDING);
        shown.addAll(isWritable() ? catalogue.columnFamily().keySet() : Set.of());
        ids.keySet().forEach(name -> state.columnFamilies.put(name, only(found.columnFamilies().get(name), shown)));
        state.database.putAll(only(found.database(), catalogue.database().keySet()));
        state.limiterBytesPerS = isWritable() ? limiterRate() : null;
        if (pools != null && isWritable()) {
            try {
                state.threadPools.putAll(inside(db -> pools.sizes()));
            } catch (RocksApi.RocksError unreadable) {
                state.threadPools.clear();
            }
        }
        return state;
    }

    @Override
    public OptionState readOriginals() throws DatabaseClosedException {
        OptionState state = readOptions(true);
        state.threadPools.putAll(originalsOfPools);
        return state;
    }

    private static Map<String, String> only(Map<String, String> values, Set<String> names) {
        Map<String, String> found = new TreeMap<>(values);
        found.keySet().retainAll(names);
        return found;
    }

    private Long limiterRate() {
        HostOptions options = host.options;
        return options == null ? null : options.limiterRate(api);
    }

    // --- measurements -----------------------------------------------------------------------------------------

    @Override
    public void look() throws DatabaseClosedException {
        try {
            inside(db -> {
                lookAt(db);
                return null;
            });
        } catch (RocksApi.RocksError unreadable) {
            throw new DatabaseClosedException();
        }
    }

    private void lookAt(Object db) throws RocksApi.RocksError {
        boolean stopped = api.longProperty(db, defaultHandle(db), STOPPED) > 0;
        boolean delayed = api.longProperty(db, defaultHandle(db), DELAYED_RATE) > 0;
        stalls.look(System.nanoTime() / 1e9, stopped, delayed);
    }

    /** Behind the gate as every call into RocksDB: a close, and the end of the process, wait for it. */
    private StatisticsText statistics() throws DatabaseClosedException {
        HostOptions options = host.options;
        if (options == null || options.statistics() == null) {
            return null;
        }
        try {
            return StatisticsText.parse(inside(db -> options.statistics().toString()));
        } catch (RocksApi.RocksError unreadable) {
            throw new DatabaseClosedException();
        }
    }

    @Override
    public Map<String, Object> measure() throws DatabaseClosedException {
        look();
        StatisticsText statistics = statistics();
        OptionsFile options = file.read(false);
        Map<String, Object> written = new LinkedHashMap<>();
        written.put("stall", stalls.asJson());
        try {
            written.put("counters", statistics == null ? countersWithoutStatistics() : counters(statistics));
            written.put("properties", inside(this::properties));
        } catch (RocksApi.RocksError unreadable) {
            throw new DatabaseClosedException();
        }
        boolean all = statistics != null && "all".equals(host.options.statisticsLevel());
        written.put("tickers", statistics == null ? null : statistics.tickers());
        written.put("histograms", all ? statistics.histogramsJson() : null);
        written.put("write_latency", null);
        written.put("column_families", measureFamilies(options));
        return written;
    }

    private Map<String, Object> properties(Object db) throws RocksApi.RocksError {
        Object handle = defaultHandle(db);
        Map<String, Object> found = new LinkedHashMap<>();
        for (String name : PROPERTIES) {
            Long value = databaseWide.number(db, handle, name);
            if (value != null) {
                found.put(name, value);
            }
        }
        return found;
    }

    private Map<String, Object> measureFamilies(OptionsFile options) throws DatabaseClosedException {
        Map<String, Object> found = new LinkedHashMap<>();
        Map<String, Integer> ids = reachable();
        families.keySet().retainAll(ids.keySet());
        for (String name : ids.keySet()) {
            Map<String, String> values = options.columnFamilies().get(name);
            if (values == null) {
                continue;
            }
            int levels = Integer.parseInt(values.getOrDefault("num_levels", "7"));
            try {
                FamilyMeasurements reader = families.computeIfAbsent(name, added -> new FamilyMeasurements(api));
                Map<String, Object> family = inside(db -> insideFamily(db, name, null,
                    handle -> reader.read(db, handle, ids.get(name), levels, System.nanoTime() / 1e9)));
                if (family != null) {
                    found.put(name, family);
                }
            } catch (RocksApi.RocksError unreadable) {
                continue;
            }
        }
        return found;
    }

    private Map<String, Object> counters(StatisticsText statistics) {
        Map<String, Object> found = new LinkedHashMap<>();
        statistics.totals().forEach((name, total) -> found.put(
            name, total == null ? null : Math.max(0, total - zeroIfNull(countersAtOpen.get(name)))));
        return found;
    }

    private static long zeroIfNull(Long value) {
        return value == null ? 0 : value;
    }

    /** Without Statistics: every key written takes a sequence number (db.h); RocksDB tells waits only as text. */
    private Map<String, Object> countersWithoutStatistics() throws RocksApi.RocksError, DatabaseClosedException {
        Map<String, Object> found = new HashMap<>();
        StatisticsText.COUNTERS.keySet().forEach(name -> found.put(name, null));
        found.put("writes", inside(api::sequence) - sequenceAtOpen);
        found.put("stall_micros", inside(
            db -> stallMicros(api.textProperty(db, defaultHandle(db), "rocksdb.dbstats"))));
        return found;
    }

    /** Reads how long writers waited, which this text has in milliseconds; null where it has not. */
    static Long stallMicros(String text) {
        Matcher found = CUMULATIVE_STALL.matcher(text);
        if (!found.find()) {
            return null;
        }
        long minutes = Long.parseLong(found.group(1)) * 60 + Long.parseLong(found.group(2));
        return ((minutes * 60 + Long.parseLong(found.group(3))) * 1000 + Long.parseLong(found.group(4))) * 1000;
    }

    @Override
    public Long propertyValue(String columnFamily, int id, String name) throws DatabaseClosedException {
        if (!file.read(false).columnFamilies().containsKey(columnFamily)) {
            return null;
        }
        try {
            return inside(db -> numberOf(db, columnFamily, id, name));
        } catch (RocksApi.RocksError unreadable) {
            return null;
        }
    }

    private Long numberOf(Object db, String columnFamily, int id, String property)
            throws RocksApi.RocksError, DatabaseClosedException {
        FamilyHandles.Use<Long> read = handle -> new FamilyMeasurements(api).number(db, handle, property);
        if (columnFamily.equals(DEFAULT)) { // which is never dropped
            return read.run(defaultHandle(db));
        }
        HostFamily found = handles.byName().get(columnFamily);
        return found == null || found.id != id ? null : handles.with(found, null, read);
    }

    // --- changes ----------------------------------------------------------------------------------------------

    @Override
    public String obstacle(Change change) {
        if (change instanceof Change.Family family && handles.isBeingDropped(family.columnFamily())) {
            return "the program is dropping column family " + family.columnFamily();
        }
        return change instanceof Change.Family || change instanceof Change.Database
            ? HostFiles.lackOfSpace(List.of(path, logPath.getParent())) : null;
    }

    @Override
    public String call(Change change) throws DatabaseClosedException {
        try {
            return inside(db -> callInside(db, change));
        } catch (RocksApi.RocksError error) {
            return error.getMessage();
        }
    }

    private String callInside(Object db, Change change) throws RocksApi.RocksError, DatabaseClosedException {
        if (change instanceof Change.Family family) {
            String name = family.columnFamily();
            return insideFamily(db, name, "Column family " + name + " is gone.", handle -> {
                api.setOptions(db, handle, family.options());
                return null;
            });
        }
        if (change instanceof Change.Database database) {
            api.setDatabaseOptions(db, database.options());
            return null;
        }
        lastSet.putAll(change.wanted()); // first: after the call, memory for that may lack
        if (change instanceof Change.Limiter limiter) {
            return setLimiterRate(limiter.bytesPerS());
        }
        if (change instanceof Change.Pool pool) {
            pools.set(pool.pool(), pool.threads());
        }
        return null;
    }

    private String setLimiterRate(long bytesPerS) throws RocksApi.RocksError {
        HostOptions options = host.options;
        return options == null ? HostOptions.NO_LIMITER : options.setLimiterRate(api, bytesPerS);
    }

    @Override
    public boolean turnLimiter(long from, long to) {
        try {
            return Long.valueOf(from).equals(limiterRate()) && setLimiterRate(to) == null;
        } catch (RocksApi.RocksError impossible) {
            return false;
        }
    }

    /**
     * Thread pools and the limiter outlive the database, and the next open would take our values for originals. What is
     * no longer as we set it is somebody else's by now: the host's, or another database's lease.
     */
    @Override
    public void end(Collection<OptionName> changed, OptionState originals) {
        for (OptionName each : changed) {
            String ours = lastSet.get(each);
            String original = originals.get(each);
            if (ours == null || original == null) {
                continue;
            }
            try {
                if (each.scope().equals("thread_pool")) {
                    pools.setBack(each.where(), Integer.parseInt(ours), Integer.parseInt(original));
                } else if (Long.valueOf(ours).equals(limiterRate())) {
                    setLimiterRate(Long.parseLong(original));
                }
            } catch (RocksApi.RocksError impossible) {
                continue;
            }
        }
        host.release();
    }
}
