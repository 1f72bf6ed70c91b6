package net.adocd.agent.session;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.DoubleSupplier;

/** Everything the protocol says about one open of a database: lease, originals, events, snapshots, changes. */
public final class Session implements LeaseKeeper.Subject {
    /** The database. */
    public final Database database;
    /** New with every open. */
    public final String name;
    /** The id under which the contract lists the database. */
    public final String id;
    /** The cached snapshot. */
    public final SnapshotCache snapshots;

    private final DoubleSupplier clock;
    private final EventRing events;
    private final LeaseKeeper keeper;
    private final RateLimitLift limiterLift;
    private final ReentrantLock executing = new ReentrantLock();
    private final Object lock = new Object();
    private final AtomicInteger changesInFlight = new AtomicInteger();
    /** Options that this session's leases changed and that are not restored yet. */
    private final Set<OptionName> leased = new HashSet<>();
    /** Options whose call failed, or whose value is not read back: it may be in use all the same. */
    private final Set<OptionName> unsure = new HashSet<>();
    private final OptionState originals;
    /** The ids of the column families that the restore plan is about; written under {@code executing}. */
    private volatile Map<String, Integer> planned = Map.of();
    private volatile boolean closed;

    /**
     * Begins a session. {@code clock} returns seconds of CLOCK_MONOTONIC, {@code wake} wakes the sampling thread.
     *
     * <p>Throws DatabaseClosedException if the database closes meanwhile.
     */
    public Session(Database database, String id, String name, DoubleSupplier clock, Runnable wake)
            throws DatabaseClosedException {
        this.database = database;
        this.id = id;
        this.name = name;
        this.clock = clock;
        this.originals = database.readOriginals();
        this.events = new EventRing(clock);
        this.snapshots = new SnapshotCache(this::take, clock, wake);
        this.limiterLift = new RateLimitLift(database, clock);
        this.keeper = new LeaseKeeper(this, clock, executing, events::emit);
    }

    /** Tells whether the session is over; asks the database, so that a close is noticed at once. */
    public boolean isClosed() {
        return closed || !database.isOpen();
    }

    /** Ends the session with its lease and plan. */
    public void close() {
        Collection<OptionName> changed;
        synchronized (lock) {
            if (closed) {
                return;
            }
            changed = new TreeSet<>(leased); // first: it can lack memory, and the close is then tried again
            closed = true;
        }
        snapshots.close();
        keeper.close();
        limiterLift.close();
        database.end(changed, originals);
    }

    /** Tells whether a restore waits for its condition. */
    public boolean isWaiting() {
        return "waiting".equals(keeper.restore().get("state"));
    }

    /** Tells whether a lease has changed options that are not restored, or is about to. */
    public boolean isChanged() {
        return changesInFlight.get() > 0 || keeper.hasPlan();
    }

    /** Writes it as the contract's Database. */
    public Map<String, Object> describe() throws DatabaseClosedException {
        Map<String, Object> written = new LinkedHashMap<>();
        written.put("id", id);
        written.put("path", database.path());
        written.put("db_identity", database.identity());
        written.put("session", name);
        written.put("opened_monotonic_s", database.openedMonotonicS());
        written.put("column_families", new ArrayList<>(current(false).columnFamilies.keySet()));
        written.putAll(database.describe());
        written.put("capabilities", database.capabilities().asJson());
        return written;
    }

    /** Writes the originals as the contract's OptionValues. */
    public Map<String, Object> originalsJson() throws DatabaseClosedException {
        current(false);
        synchronized (lock) {
            return originals.asJson();
        }
    }

    /** Polls what must be watched between snapshots; on the sampling thread, ten times a second. */
    public void look() throws DatabaseClosedException {
        Double waitedS = limiterLift.look();
        if (waitedS != null) {
            events.emit("rate_limit_lifted", "elapsed_s", waitedS);
        }
        database.look();
    }

    /** Writes the cached sample with what is known without the database; {@code after} null: without events. */
    public Map<String, Object> snapshot(Long after) {
        Map<String, Object> taken = snapshots.get();
        Map<String, Object> written = new LinkedHashMap<>(taken);
        written.put("age_s", Math.max(0.0, clock.getAsDouble() - (Double) taken.get("monotonic_s")));
        written.put("lease", keeper.lease());
        written.put("restore", keeper.restore());
        written.put("change_in_flight", changesInFlight.get() > 0);
        written.put("revoked_epoch", keeper.revokedEpoch());
        written.putAll(events.since(after));
        return written;
    }

    /** PUT lease. */
    public Map<String, Object> hold(String holder, double ttlS, Long epoch) {
        return keeper.hold(holder, ttlS, epoch);
    }

    /** DELETE lease. */
    public Map<String, Object> release(String holder, Long epoch, boolean restore, boolean force)
            throws DatabaseClosedException {
        return keeper.release(holder, epoch, restore, force);
    }

    private Map<String, Object> take() throws DatabaseClosedException {
        Map<String, Object> taken = new LinkedHashMap<>();
        taken.put("database", id);
        taken.put("session", name);
        taken.put("options", current(false).asJson());
        taken.putAll(database.measure());
        return taken;
    }

    /** Reads the options, and notes created and dropped column families. */
    private OptionState current(boolean fresh) throws DatabaseClosedException {
        OptionState current = database.readOptions(fresh);
        synchronized (lock) {
            Map<String, Map<String, String>> known = originals.columnFamilies;
            for (String family : new ArrayList<>(known.keySet())) {
                Integer id = current.familyIds.get(family);
                // Ids rise: a higher one is that of another column family, which was created after a drop.
                if (id == null || id > originals.familyIds.getOrDefault(family, -1)) {
                    known.remove(family);
                    leased.removeIf(each -> isOf(each, family));
                    unsure.removeIf(each -> isOf(each, family));
                }
            }
            current.columnFamilies.forEach((family, values) -> {
                if (known.putIfAbsent(family, new LinkedHashMap<>(values)) == null) {
                    originals.familyIds.put(family, current.familyIds.get(family));
                }
            });
        }
        return current;
    }

    private static boolean isOf(OptionName name, String family) {
        return name.scope().equals("column_family") && name.where().equals(family);
    }

    // --- changes ----------------------------------------------------------------------------------------------

    /** PATCH options: checks everything, then executes step by step. */
    public Map<String, Object> change(ChangeRequest request) throws DatabaseClosedException {
        if (isClosed()) {
            throw Refusal.databaseClosed();
        }
        keeper.require(request.holder(), request.epoch());
        List<Map<String, Object>> steps;
        changesInFlight.incrementAndGet();
        executing.lock();
        try {
            keeper.require(request.holder(), request.epoch());
            keeper.adoptIfDue();
            Map<String, Integer> ids = check(request).familyIds;
            keeper.arm(request.holder(), request.epoch(), request.plan());
            planned = ids;
            steps = executeAll(request);
        } finally {
            executing.unlock();
            changesInFlight.decrementAndGet();
        }
        if (steps.isEmpty()) {
            throw Refusal.databaseClosed();
        }
        return Map.of("steps", steps);
    }

    private OptionState check(ChangeRequest request) throws DatabaseClosedException {
        OptionState current = current(true);
        ChangeCheck check = new ChangeCheck(current, database.capabilities(), database.catalogue());
        request.changes().forEach(check::change);
        Map<String, Set<String>> readable = snapshots.readable();
        for (PlanStep step : request.plan()) {
            check.change(step.change());
            check.condition(step, readable);
        }
        ChangeCheck.plan(request.plan(), request.changes(), mustRestore(current));
        return current;
    }

    private List<Map<String, Object>> executeAll(ChangeRequest request) {
        List<Map<String, Object>> steps = new ArrayList<>();
        for (Change change : request.changes()) {
            try {
                if (!keeper.holds(request.holder(), request.epoch())) {
                    if (isClosed()) {
                        throw new DatabaseClosedException();
                    }
                    steps.add(failed("The lease ended; what was changed is being restored."));
                    break;
                }
                Executed step = execute(change, request.repeat(), request.liftRateLimit());
                steps.add(step.asJson());
                if (!step.outcome.equals("unchanged")) {
                    String error = step.error == null ? "" : " (error: " + step.error + ")";
                    events.emit("options_changed", change.describe() + error);
                }
                if (step.error != null) {
                    break;
                }
            } catch (DatabaseClosedException ending) {
                if (!steps.isEmpty()) {
                    steps.add(failed("The database was closed."));
                }
                break;
            }
        }
        return steps;
    }

    /** What came of a change; {@code hindrance} is null unless it must not be made. */
    private record Executed(
            String outcome, double elapsedS, String error, Map<String, String> readBack, Hindrance hindrance) {
        boolean hasToWait() {
            return hindrance != null && hindrance.passes();
        }

        Map<String, Object> asJson() {
            Map<String, Object> written = new LinkedHashMap<>();
            written.put("outcome", outcome);
            written.put("elapsed_s", elapsedS);
            written.put("error", error);
            written.put("read_back", readBack);
            return written;
        }

        /** Adds what came of the tries before, with more options. */
        Executed after(Executed earlier) {
            Map<String, String> values = new LinkedHashMap<>(earlier.readBack);
            values.putAll(readBack);
            String errors = error == null ? earlier.error : earlier.error + " " + error;
            return new Executed("error", earlier.elapsedS + elapsedS, errors, values, hindrance);
        }
    }

    private static Map<String, Object> failed(String error) {
        return new Executed("error", 0.0, error, Map.of(), null).asJson();
    }

    /** Makes one call, unless every value is already in force or it must not be made, and reads back the result. */
    private Executed execute(Change change, boolean repeat, boolean lift) throws DatabaseClosedException {
        if (isClosed()) {
            throw new DatabaseClosedException();
        }
        double startedS = clock.getAsDouble();
        OptionState before = current(true);
        Map<OptionName, String> targets = change.wanted();
        boolean there = !repeat && isThere(targets, before);
        Hindrance hindrance = there ? null : findHindrance(change, before);
        String error = hindrance == null ? null : "Not executed: " + hindrance.why() + ".";
        OptionState after = before;
        if (!there && hindrance == null) {
            synchronized (lock) {
                leased.addAll(targets.keySet());
                unsure.addAll(targets.keySet());
            }
            error = call(change, before, lift);
            after = current(true);
            forgetDoubts(error == null ? targets : Map.of(), after);
        }
        String outcome = there ? "unchanged" : error == null ? "applied" : "error";
        return new Executed(outcome, clock.getAsDouble() - startedS, error, after.readBack(change), hindrance);
    }

    private String call(Change change, OptionState before, boolean lift) throws DatabaseClosedException {
        if (change instanceof Change.Limiter limiter) {
            limiterLift.noteSet(limiter.bytesPerS(), before.limiterBytesPerS);
        }
        if (!lift || !(change instanceof Change.Family || change instanceof Change.Database)) {
            return database.call(change);
        }
        limiterLift.callBegins();
        try {
            return database.call(change);
        } finally {
            limiterLift.callEnds();
        }
    }

    private Hindrance findHindrance(Change change, OptionState current) {
        Hindrance conflict = OptionOrder.findConflict(change, current);
        if (conflict != null) {
            return conflict;
        }
        String obstacle = database.obstacle(change);
        return obstacle == null ? null : new Hindrance(obstacle, Set.of());
    }

    /** Executes a step of a restore; where options do not go together, the rest of it, and that is an error. */
    private Executed executeWhatFits(Change change) throws DatabaseClosedException {
        Executed done = execute(change, false, false);
        Change rest = change;
        while (done.hindrance != null && !done.hasToWait() && rest instanceof Change.Family family) {
            rest = family.without(done.hindrance.atOdds());
            if (rest.wanted().isEmpty()) {
                return done;
            }
            Executed next = execute(rest, false, false);
            if (next.hasToWait()) { // then the whole step is tried again
                return next;
            }
            done = next.after(done);
        }
        return done;
    }

    private boolean isThere(Map<OptionName, String> targets, OptionState current) {
        synchronized (lock) {
            return targets.entrySet().stream().allMatch(
                each -> each.getValue().equals(current.get(each.getKey())) && !unsure.contains(each.getKey()));
        }
    }

    /**
     * A value is certain when RocksDB took it and it is read back. RocksDB may say OK though it could not write its
     * OPTIONS file, as RocksDB 6 and 7 do by default (fail_if_options_file_error): that then has the values of before.
     */
    private void forgetDoubts(Map<OptionName, String> taken, OptionState readBack) {
        synchronized (lock) {
            taken.forEach((name, value) -> {
                if (value.equals(readBack.get(name))) {
                    unsure.remove(name);
                }
            });
        }
    }

    /** Returns the options that differ from their originals, or may, because of this session's leases. */
    private Set<OptionName> mustRestore(OptionState current) {
        synchronized (lock) {
            Set<OptionName> found = new HashSet<>();
            for (OptionName each : leased) {
                String value = current.get(each);
                if (value != null && (unsure.contains(each) || !value.equals(originals.get(each)))) {
                    found.add(each);
                }
            }
            return found;
        }
    }

    // --- what the keeper needs --------------------------------------------------------------------------------

    /** Null if the plan was about another column family of that name, which was dropped. */
    @Override
    public Long propertyValue(String columnFamily, String property) throws DatabaseClosedException {
        Integer id = planned.get(columnFamily);
        return id == null ? null : database.propertyValue(columnFamily, id, property);
    }

    /** An option back at its original counts as the host's own again. */
    @Override
    public String undo(Change change) throws DatabaseClosedException, NotNowException {
        if (change instanceof Change.Family family) {
            String where = family.columnFamily();
            Integer id = current(true).familyIds.get(where);
            if (id == null || !id.equals(planned.get(where))) { // or another one has that name by now
                return "Column family " + where + " is gone.";
            }
        }
        Executed step = executeWhatFits(change);
        if (step.hasToWait()) {
            throw new NotNowException(step.hindrance.why());
        }
        synchronized (lock) {
            for (OptionName each : change.wanted().keySet()) {
                String value = step.readBack.get(each.option());
                if (!unsure.contains(each) && value != null && value.equals(originals.get(each))) {
                    leased.remove(each);
                }
            }
        }
        if (change instanceof Change.Limiter) {
            limiterLift.forget();
        }
        return step.error;
    }

    @Override
    public void adoptOriginals() throws DatabaseClosedException {
        OptionState current = current(true);
        List<Change> pools = new ArrayList<>();
        synchronized (lock) {
            for (OptionName each : mustRestore(current)) {
                originals.put(each, current.get(each));
                if (each.scope().equals("thread_pool")) {
                    pools.add(new Change.Pool(each.where(), current.threadPools.get(each.where())));
                }
            }
            leased.clear();
        }
        limiterLift.forget();
        for (Change pool : pools) { // set once more to the size it has, it is that of the process: see ThreadPools
            database.call(pool);
        }
    }
}
