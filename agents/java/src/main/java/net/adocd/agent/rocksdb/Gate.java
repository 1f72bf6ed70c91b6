package net.adocd.agent.rocksdb;

import java.util.Collection;
import net.adocd.agent.AgentThread;

/**
 * Keeps the agent's calls out of an object that the host disposes of: none is under way when {@link #close} returns,
 * and none begins after. A call on a disposed handle would end the process. Nothing here allocates, because a close
 * that fails for lack of memory would let the host go on.
 */
public final class Gate {
    private int inside;
    private volatile boolean closed;
    private volatile boolean paused;

    /** Enters for a call; false once it is closed, or while it is paused. Whoever got true must {@link #leave}. */
    public synchronized boolean enter() {
        if (closed || paused) {
            return false;
        }
        inside++;
        return true;
    }

    /** Ends a call. */
    public synchronized void leave() {
        inside--;
        if (closed || paused) {
            notifyAll();
        }
    }

    /** Tells whether it is closed, or about to be. */
    public boolean isClosed() {
        return closed;
    }

    /** Tells whether it lets nobody in at the moment, but perhaps again. */
    public boolean isPaused() {
        return paused && !closed;
    }

    /** Closes for good; waits for calls under way, whatever happens to the thread. */
    public synchronized void close() {
        closed = true;
        awaitEmpty();
    }

    /** Closes until {@link #resume}; waits for calls under way. */
    public synchronized void pause() {
        paused = true;
        awaitEmpty();
    }

    /** Ends a pause; a gate that was closed meanwhile stays closed. */
    public synchronized void resume() {
        paused = false;
    }

    private void awaitEmpty() {
        if (AgentThread.isCurrent()) { // it may be inside, and would wait for itself
            return;
        }
        boolean interrupted = false;
        while (inside > 0) {
            try {
                wait();
            } catch (InterruptedException | OutOfMemoryError again) { // no memory for the exception
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Closes gates for good, because the process ends: none lets a call in when this begins to wait for those under
     * way. Waits for all of them together at most that long.
     */
    public static void closeAll(Collection<Gate> gates, long milliseconds) {
        gates.forEach(each -> each.closed = true);
        long untilNs = System.nanoTime() + milliseconds * 1_000_000;
        try {
            for (Gate each : gates) {
                each.awaitEmptyUntil(untilNs);
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void awaitEmptyUntil(long untilNs) throws InterruptedException {
        while (inside > 0) {
            long leftMs = (untilNs - System.nanoTime()) / 1_000_000;
            if (leftMs <= 0) {
                return;
            }
            wait(leftMs);
        }
    }
}
