package net.adocd.agent;

import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import net.adocd.agent.hook.Hooks;
import net.adocd.agent.rocksdb.Registry;

/**
 * Finds the databases that were open before the agent came: for a moment their methods report whose they are. The LOCK
 * files that the process holds tell how many there are. One that nobody calls stays unseen.
 */
final class LateSearch {
    /** Longest time in which methods report (ms). */
    private static final long MOST_MS = 10_000;
    private static final long LOOK_MS = 20;

    private final Hooks hooks;
    private final Registry registry;
    private volatile boolean ended;

    LateSearch(Hooks hooks, Registry registry) {
        this.hooks = hooks;
        this.registry = registry;
    }

    /** Begins; when it returns, whatever the host opens is seen. */
    void start() {
        if (hooks.weaveLoaded(true)) {
            AgentThread.start("adocd-search", this::run);
        } else {
            hooks.weaveLoaded(false); // RocksDB is not loaded yet
        }
    }

    /** Ends it within milliseconds; the methods report until the hooks are taken out. */
    void end() {
        ended = true;
    }

    private void run() {
        try {
            long untilNs = System.nanoTime() + MOST_MS * 1_000_000;
            while (!ended && System.nanoTime() - untilNs < 0 && !isComplete()) {
                Thread.sleep(LOOK_MS);
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        } finally {
            if (!ended) {
                hooks.weaveLoaded(false);
            }
        }
    }

    private boolean isComplete() {
        Set<Path> missing = new HashSet<>(Registry.lockedDirectories());
        missing.removeAll(registry.paths());
        return missing.isEmpty();
    }
}
