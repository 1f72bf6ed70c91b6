package net.adocd.agent.rocksdb;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The classes of one rocksdbjni, reached by method handles: the agent is compiled against none, because a process can
 * have several, each in a class loader of its own. The caller holds the gate of every object that it passes.
 */
final class RocksApi {
    /** The thread pools of an Env by the contract's names. {@code Priority.TOTAL} would end the process. */
    static final List<String> POOLS = List.of("low", "high", "bottom");

    private final Class<?> databaseClass;
    private final Class<?> handleClass;
    private final MethodHandle owning;
    private final MethodHandle longProperty;
    private final MethodHandle textProperty;
    private final MethodHandle mapProperty;
    private final MethodHandle setFamilyOptions;
    private final MethodHandle setDatabaseOptions;
    private final MethodHandle newFamilyOptions;
    private final MethodHandle newDatabaseOptions;
    private final MethodHandle sequence;
    private final MethodHandle path;
    private final MethodHandle defaultHandle;
    private final MethodHandle handleName;
    private final MethodHandle handleId;
    private final MethodHandle limiterRate;
    private final MethodHandle setLimiterRate;
    private final MethodHandle poolSize;
    private final MethodHandle setPoolSize;
    private final Map<String, Object> priorities = new LinkedHashMap<>();
    private ThreadPools pools;

    /** Finds the classes in the loader. Throws ReflectiveOperationException where one has another shape. */
    RocksApi(ClassLoader loader) throws ReflectiveOperationException {
        databaseClass = Class.forName("org.rocksdb.RocksDB", false, loader);
        handleClass = Class.forName("org.rocksdb.ColumnFamilyHandle", false, loader);
        Class<?> familyOptions = Class.forName("org.rocksdb.MutableColumnFamilyOptions", true, loader);
        Class<?> databaseOptions = Class.forName("org.rocksdb.MutableDBOptions", true, loader);
        Class<?> limiter = Class.forName("org.rocksdb.RateLimiter", false, loader);
        Class<?> env = Class.forName("org.rocksdb.Env", false, loader);
        Class<?> priority = Class.forName("org.rocksdb.Priority", true, loader);
        for (String pool : POOLS) {
            priorities.put(pool, priority.getField(pool.toUpperCase(java.util.Locale.ROOT)).get(null));
        }
        owning = method(Class.forName("org.rocksdb.RocksObject", false, loader), "isOwningHandle");
        longProperty = method(databaseClass, "getLongProperty", handleClass, String.class);
        textProperty = method(databaseClass, "getProperty", handleClass, String.class);
        mapProperty = method(databaseClass, "getMapProperty", handleClass, String.class);
        setFamilyOptions = method(databaseClass, "setOptions", handleClass, familyOptions);
        setDatabaseOptions = method(databaseClass, "setDBOptions", databaseOptions);
        newFamilyOptions = constructor(familyOptions);
        newDatabaseOptions = constructor(databaseOptions);
        sequence = method(databaseClass, "getLatestSequenceNumber");
        path = method(databaseClass, "getName");
        defaultHandle = defaultHandleMaker(databaseClass);
        handleName = method(handleClass, "getName");
        handleId = method(handleClass, "getID");
        limiterRate = method(limiter, "getBytesPerSecond");
        setLimiterRate = method(limiter, "setBytesPerSecond", long.class);
        poolSize = method(env, "getBackgroundThreads", priority);
        setPoolSize = method(env, "setBackgroundThreads", int.class, priority);
    }

    private static MethodHandle method(Class<?> owner, String name, Class<?>... parameters)
            throws ReflectiveOperationException {
        return MethodHandles.publicLookup().unreflect(owner.getMethod(name, parameters));
    }

    /**
     * Since 9.0, getDefaultColumnFamily returns the host's own handle if it opened the database with a list, and the
     * host may close that one before the database. What makes a handle that nobody owns has another name then.
     */
    private static MethodHandle defaultHandleMaker(Class<?> database) throws ReflectiveOperationException {
        try {
            Method maker = database.getDeclaredMethod("makeDefaultColumnFamilyHandle");
            maker.setAccessible(true);
            return MethodHandles.lookup().unreflect(maker);
        } catch (NoSuchMethodException before) {
            return method(database, "getDefaultColumnFamily");
        }
    }

    /** The private constructor takes any option by its name; the public builder takes only those that it knows. */
    private static MethodHandle constructor(Class<?> options) throws ReflectiveOperationException {
        Constructor<?> found = options.getDeclaredConstructor(String[].class, String[].class);
        found.setAccessible(true);
        return MethodHandles.lookup().unreflectConstructor(found);
    }

    /** Returns a field of a class or of one of its superclasses; null where there is none, or it cannot be read. */
    static Object field(Object owner, String name) {
        for (Class<?> each = owner.getClass(); each != null; each = each.getSuperclass()) {
            try {
                Field found = each.getDeclaredField(name);
                found.setAccessible(true);
                return found.get(owner);
            } catch (NoSuchFieldException elsewhere) {
                continue;
            } catch (ReflectiveOperationException | RuntimeException unreadable) {
                return null;
            }
        }
        return null;
    }

    /** Returns where RocksDB has what this object stands for; 0 where that cannot be read. */
    static long nativeHandle(Object object) {
        return field(object, "nativeHandle_") instanceof Long found ? found : 0;
    }

    /** What RocksDB says of a call that failed. */
    static final class RocksError extends Exception {
        private static final long serialVersionUID = 1;

        RocksError(Throwable cause) {
            super(cause.getMessage() == null ? cause.toString() : cause.getMessage(), null, false, false);
        }
    }

    /** A call that may throw anything. */
    @FunctionalInterface
    private interface Call<T> {
        T run() throws Throwable;
    }

    private static <T> T checked(Call<T> call) throws RocksError {
        try {
            return call.run();
        } catch (VirtualMachineError error) {
            throw error;
        } catch (Throwable error) { // RocksDBException, of a class that this one does not know
            throw new RocksError(error);
        }
    }

    boolean isOwning(Object object) {
        try {
            return (boolean) owning.invoke(object);
        } catch (Throwable error) {
            return false;
        }
    }

    long longProperty(Object db, Object handle, String name) throws RocksError {
        return checked(() -> (long) longProperty.invoke(db, handle, name));
    }

    String textProperty(Object db, Object handle, String name) throws RocksError {
        return checked(() -> (String) textProperty.invoke(db, handle, name));
    }

    @SuppressWarnings("unchecked")
    Map<String, String> mapProperty(Object db, Object handle, String name) throws RocksError {
        return checked(() -> (Map<String, String>) mapProperty.invoke(db, handle, name));
    }

    void setOptions(Object db, Object handle, Map<String, String> options) throws RocksError {
        checked(() -> {
            Object values = newFamilyOptions.invoke(keys(options), values(options));
            setFamilyOptions.invoke(db, handle, values);
            return null;
        });
    }

    void setDatabaseOptions(Object db, Map<String, String> options) throws RocksError {
        checked(() -> {
            Object values = newDatabaseOptions.invoke(keys(options), values(options));
            setDatabaseOptions.invoke(db, values);
            return null;
        });
    }

    private static String[] keys(Map<String, String> options) {
        return options.keySet().toArray(String[]::new);
    }

    private static String[] values(Map<String, String> options) {
        return options.values().toArray(String[]::new);
    }

    long sequence(Object db) throws RocksError {
        return checked(() -> (long) sequence.invoke(db));
    }

    String path(Object db) throws RocksError {
        return checked(() -> (String) path.invoke(db));
    }

    /**
     * Returns a handle of the default column family that nobody owns, and that lives as long as the database. Throws
     * IllegalStateException where this rocksdbjni gives none.
     */
    Object defaultHandle(Object db) throws RocksError {
        Object handle = checked(() -> (Object) defaultHandle.invoke(db));
        if (handle == null || isOwning(handle)) {
            throw new IllegalStateException("no handle of the default column family of its own");
        }
        return handle;
    }

    String handleName(Object handle) throws RocksError {
        return checked(() -> new String((byte[]) handleName.invoke(handle), StandardCharsets.UTF_8));
    }

    int handleId(Object handle) throws RocksError {
        return checked(() -> (int) handleId.invoke(handle));
    }

    long limiterRate(Object limiter) throws RocksError {
        return checked(() -> (long) limiterRate.invoke(limiter));
    }

    void setLimiterRate(Object limiter, long bytesPerS) throws RocksError {
        checked(() -> {
            setLimiterRate.invoke(limiter, bytesPerS);
            return null;
        });
    }

    /** Returns the thread pools of the default Env, {@code Env.getDefault()}. */
    synchronized ThreadPools pools(Object defaultEnv) {
        if (pools == null) {
            pools = new ThreadPools(this, defaultEnv);
        }
        return pools;
    }

    int poolSize(Object env, String pool) throws RocksError {
        return checked(() -> (int) poolSize.invoke(env, priorities.get(pool)));
    }

    void setPoolSize(Object env, String pool, int threads) throws RocksError {
        checked(() -> setPoolSize.invoke(env, threads, priorities.get(pool)));
    }
}
