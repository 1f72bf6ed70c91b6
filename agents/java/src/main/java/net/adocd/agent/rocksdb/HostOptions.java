package net.adocd.agent.rocksdb;

import java.util.Map;
import java.util.function.Function;

/**
 * What the agent uses of the options that a database was opened with. Taken on the host's own thread in the open, when
 * the options cannot be closed.
 *
 * @param statistics a Java object of the agent's own over the host's Statistics; null without
 * @param statisticsLevel none, tickers or all
 * @param countersAtOpen the totals then: a Statistics object can be older than this open
 * @param limiter the host's RateLimiter; null without, or where it is out of reach
 * @param limiterGate closed when the host disposes of the limiter; null without a limiter
 * @param usesDefaultEnv whether the thread pools are those of the default Env
 * @param defaultEnv {@code Env.getDefault()}
 */
record HostOptions(
    AutoCloseable statistics,
    String statisticsLevel,
    Map<String, Long> countersAtOpen,
    Object limiter,
    Gate limiterGate,
    boolean usesDefaultEnv,
    Object defaultEnv) {

    /** Why a limiter cannot be changed any more. */
    static final String NO_LIMITER = "The host has disposed of its rate limiter.";

    /**
     * Takes what can be taken; what cannot be is left out, because nothing here may reach the host. {@code atOpen}: the
     * database has just been opened.
     */
    static HostOptions take(Object options, boolean atOpen, Function<Object, Gate> watch) {
        AutoCloseable statistics = null;
        String level = "none";
        Map<String, Long> counters = Map.of();
        Object limiter = null;
        Object env = null;
        Object defaultEnv = null;
        try {
            statistics = (AutoCloseable) options.getClass().getMethod("statistics").invoke(options);
            level = statistics == null ? "none" : levelOf(statistics);
            if (statistics != null && atOpen) {
                counters = StatisticsText.parse(statistics.toString()).totals();
            }
        } catch (ReflectiveOperationException | RuntimeException unreadable) {
            level = "none";
        }
        try {
            env = options.getClass().getMethod("getEnv").invoke(options);
            Class<?> envClass = Class.forName("org.rocksdb.Env", false, options.getClass().getClassLoader());
            defaultEnv = envClass.getMethod("getDefault").invoke(null);
            limiter = RocksApi.field(options, "rateLimiter_");
        } catch (ReflectiveOperationException | RuntimeException unreadable) {
            limiter = null;
        }
        Gate gate = limiter == null ? null : watch.apply(limiter);
        // Options made from properties have none in Java, and so the default one in RocksDB.
        boolean usesDefault = defaultEnv != null && (env == null || env == defaultEnv);
        return new HostOptions(statistics, level, counters, limiter, gate, usesDefault, defaultEnv);
    }

    /** Returns the limiter's rate in bytes a second; null where there is none to reach. */
    Long limiterRate(RocksApi api) {
        if (limiter == null || !limiterGate.enter()) {
            return null;
        }
        try {
            return api.isOwning(limiter) ? Long.valueOf(api.limiterRate(limiter)) : null;
        } catch (RocksApi.RocksError unreadable) {
            return null;
        } finally {
            limiterGate.leave();
        }
    }

    /** Sets the limiter's rate; returns why it could not be set, else null. */
    String setLimiterRate(RocksApi api, long bytesPerS) throws RocksApi.RocksError {
        if (limiter == null || !limiterGate.enter()) {
            return NO_LIMITER;
        }
        try {
            if (!api.isOwning(limiter)) {
                return NO_LIMITER;
            }
            api.setLimiterRate(limiter, bytesPerS);
            return null;
        } finally {
            limiterGate.leave();
        }
    }

    /** Java knows only the levels that keep histograms; for another one it throws. */
    private static String levelOf(AutoCloseable statistics) {
        try {
            statistics.getClass().getMethod("statsLevel").invoke(statistics);
            return "all";
        } catch (ReflectiveOperationException | RuntimeException other) {
            return "tickers";
        }
    }

    /** Gives back the agent's own object over the Statistics; on the thread that reads them. */
    void release() {
        try {
            if (statistics != null) {
                statistics.close();
            }
        } catch (Exception ofNoUse) {
            return;
        }
    }
}
