package net.adocd.agent.rocksdb;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Keeps the agent's calls out of an object that the host disposes of: none is under way when {@link #close} returns,
 * and none begins after. A call on a disposed handle would end the process.
 */
public final class Gate {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private volatile boolean closed;

    /** Enters for a call; false once the gate is closed. Whoever got true must {@link #leave}. */
    public boolean enter() {
        if (closed) {
            return false;
        }
        lock.readLock().lock();
        if (closed) {
            lock.readLock().unlock();
            return false;
        }
        return true;
    }

    /** Ends a call. */
    public void leave() {
        lock.readLock().unlock();
    }

    /** Tells whether it is closed, or about to be. */
    public boolean isClosed() {
        return closed;
    }

    /** Closes for good; waits for calls under way. */
    public void close() {
        if (closed && lock.getReadLockCount() == 0) {
            return;
        }
        closed = true;
        if (lock.getReadHoldCount() == 0) { // else this thread would wait for itself
            lock.writeLock().lock();
            lock.writeLock().unlock();
        }
    }

    /** Closes for good; waits for calls under way, but not longer than this, because the process ends. */
    public void closeWithin(long milliseconds) {
        closed = true;
        try {
            if (lock.writeLock().tryLock(milliseconds, TimeUnit.MILLISECONDS)) {
                lock.writeLock().unlock();
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }
}
