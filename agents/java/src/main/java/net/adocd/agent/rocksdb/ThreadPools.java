package net.adocd.agent.rocksdb;

import java.util.LinkedHashMap;
import java.util.Map;

/** The thread pools of RocksDB's default Env: of the process, shared by all its databases of one rocksdbjni. */
final class ThreadPools {
    private final RocksApi api;
    private final Object env;
    /** Sizes before any lease of this process changed them. */
    private final Map<String, Integer> beforeLeases = new LinkedHashMap<>();
    /** Sizes that were set here last: a pool of another one is the host's own. */
    private final Map<String, Integer> setHere = new LinkedHashMap<>();

    /** {@code env} is {@code Env.getDefault()}, which is never disposed of. */
    ThreadPools(RocksApi api, Object env) {
        this.api = api;
        this.env = env;
    }

    /** Returns the number of threads of each pool. */
    synchronized Map<String, Integer> sizes() throws RocksApi.RocksError {
        Map<String, Integer> found = new LinkedHashMap<>();
        for (String pool : RocksApi.POOLS) {
            found.put(pool, api.poolSize(env, pool));
        }
        return found;
    }

    /** Returns the sizes as they were before any lease of this process changed them. */
    synchronized Map<String, Integer> originals() throws RocksApi.RocksError {
        Map<String, Integer> found = sizes();
        found.putAll(beforeLeases);
        return found;
    }

    /** Sets a pool's size. Setting its current size makes that the original; a session adopts it that way. */
    synchronized void set(String pool, int threads) throws RocksApi.RocksError {
        int before = api.poolSize(env, pool);
        Integer original = beforeLeases.putIfAbsent(pool, before);
        setHere.put(pool, threads);
        api.setPoolSize(env, pool, threads);
        if (threads == before || (original != null && threads == original)) {
            beforeLeases.remove(pool);
        }
    }

    /** Sets a pool back whose session ends, unless its size is no longer what that session set. */
    synchronized void setBack(String pool, int written, int original) throws RocksApi.RocksError {
        int size = api.poolSize(env, pool);
        if (size == written) {
            set(pool, original);
        } else if (!Integer.valueOf(size).equals(setHere.get(pool))) { // nor what another session set: the host did
            beforeLeases.remove(pool);
        }
    }
}
