package net.adocd.agent.session;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;

/** A database with some live options and the column families "default" and "more". */
final class FakeDatabase implements Database {
    static final String OPTION = "write_buffer_size";
    static final String TRIGGER = "level0_file_num_compaction_trigger";
    static final String SLOWDOWN = "level0_slowdown_writes_trigger";
    private static final Map<String, OptionKind> KINDS =
        Map.of(OPTION, OptionKind.SIZE, TRIGGER, OptionKind.INT, SLOWDOWN, OptionKind.FILES);

    /** What the OPTIONS file has. */
    final OptionState file = new OptionState();
    /** What was called, "FAMILY=VALUES" each. */
    final List<String> calls = new ArrayList<>();
    /** Whether a change gets into the OPTIONS file. */
    volatile boolean writesOptions = true;
    /** What changes have to wait for. */
    volatile String obstacle;
    /** Every property of every column family. */
    volatile long property;
    /** Holds up each call of a column family until it is 0, as a stop of writes does. */
    volatile CountDownLatch stop = new CountDownLatch(0);
    private int lastId;

    FakeDatabase(String value) {
        create("default", value);
        create("more", value);
        file.limiterBytesPerS = 100L;
    }

    /** Creates a column family, in the place of one of that name if there is one. */
    synchronized void create(String family, String value) {
        file.columnFamilies.put(family, new TreeMap<>(Map.of(OPTION, value, TRIGGER, "4", SLOWDOWN, "20")));
        file.familyIds.put(family, lastId++);
    }

    @Override
    public String path() {
        return "/db";
    }

    @Override
    public String identity() {
        return "identity";
    }

    @Override
    public double openedMonotonicS() {
        return 0;
    }

    @Override
    public Catalogue catalogue() {
        return new Catalogue(KINDS, Map.of(),
            Map.of("column_family", Set.of(), "database", Set.of()), Map.of());
    }

    @Override
    public boolean isOpen() {
        return true;
    }

    @Override
    public Capabilities capabilities() {
        return new Capabilities(KINDS.keySet(), Set.of(), true, List.of(), "none");
    }

    @Override
    public Map<String, Object> describe() {
        return Map.of();
    }

    @Override
    public synchronized OptionState readOptions(boolean fresh) {
        OptionState read = new OptionState();
        file.columnFamilies.forEach((name, values) -> read.columnFamilies.put(name, new TreeMap<>(values)));
        read.familyIds.putAll(file.familyIds);
        read.limiterBytesPerS = file.limiterBytesPerS;
        return read;
    }

    @Override
    public OptionState readOriginals() {
        return readOptions(true);
    }

    @Override
    public Map<String, Object> measure() {
        return Map.of("column_families", Map.of());
    }

    @Override
    public void look() { }

    @Override
    public synchronized Long propertyValue(String columnFamily, int id, String name) {
        return file.familyIds.get(columnFamily) == id ? property : null;
    }

    @Override
    public String obstacle(Change change) {
        return obstacle;
    }

    @Override
    public String call(Change change) {
        if (change instanceof Change.Limiter limiter) {
            turnLimiter(file.limiterBytesPerS, limiter.bytesPerS());
            return null;
        }
        try {
            stop.await();
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
        return set((Change.Family) change);
    }

    private synchronized String set(Change.Family family) {
        calls.add(family.columnFamily() + "=" + String.join(",", family.options().values()));
        if (writesOptions) {
            file.columnFamilies.get(family.columnFamily()).putAll(family.options());
        }
        return null;
    }

    @Override
    public synchronized boolean turnLimiter(long from, long to) {
        if (file.limiterBytesPerS != from) {
            return false;
        }
        file.limiterBytesPerS = to;
        return true;
    }

    @Override
    public void end(Collection<OptionName> changed, OptionState originals) { }
}
