package net.adocd.agent;

import java.lang.instrument.Instrumentation;
import net.adocd.agent.hook.Hooks;

/** An agent with its hooks in this process: how it comes, and how it leaves. */
final class Presence {
    /** Longest wait for its threads when it leaves (ms). Only a call into RocksDB takes longer than a moment. */
    private static final long LEAVE_MS = 5_000;
    private static final long FOREVER_MS = 1L << 40;

    private final ProcessAgent agent;
    private final Hooks hooks;
    /** Null for an agent that came with the program. */
    private final LateSearch search;
    private volatile boolean leaving;
    private volatile boolean over;
    private boolean hasThread;

    private Presence(ProcessAgent agent, Hooks hooks, LateSearch search) {
        this.agent = agent;
        this.hooks = hooks;
        this.search = search;
    }

    static Presence begin(Settings settings, Instrumentation instrumentation, boolean late) {
        ProcessAgent agent = new ProcessAgent(settings);
        Hooks hooks = new Hooks(instrumentation, agent.registry());
        LateSearch search = late ? new LateSearch(hooks, agent.registry()) : null;
        try {
            agent.start(hooks::end);
            if (late) {
                search.start();
            }
        } catch (RuntimeException | Error mistake) {
            agent.detach();
            hooks.end();
            throw mistake;
        }
        return new Presence(agent, hooks, search);
    }

    /** Tells whether it came late. */
    boolean isLate() {
        return search != null;
    }

    /** Tells whether it has begun to leave, and waits for a call into RocksDB. */
    boolean isLeaving() {
        return leaving && !over;
    }

    /** Tells whether it serves, or waits for the first database; not when it could never listen. */
    boolean isAtWork() {
        return !leaving && !agent.isStopped();
    }

    /**
     * Leaves the process as it was before; returns why not, else "". The hooks are taken out last, when no call of ours
     * is inside RocksDB: until then a close has to wait for it. {@code forget} drops the last reference to this.
     */
    String end(Runnable forget) {
        if (!leaving) {
            String waiting = agent.waitingDatabase();
            if (waiting != null) {
                return "the restore of " + waiting + " waits for a condition: try again when it is done";
            }
            leaving = true;
            search.end();
            agent.detach();
        }
        if (!over && !isGone(LEAVE_MS, forget) && !hasThread) {
            hasThread = true;
            AgentThread.start("adocd-leave", () -> isGone(FOREVER_MS, forget));
        }
        return over ? "" : "a call of it is still inside RocksDB, or a restore not done; it leaves by itself after that";
    }

    private boolean isGone(long withinMs, Runnable forget) {
        try {
            if (AgentThread.awaitOthers(withinMs)) {
                hooks.end();
                agent.letGo();
                over = true;
                forget.run();
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        return over;
    }
}
