package net.adocd.agent;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Threads of the agent: daemons that take nothing of the host's with them and never write to its output. */
public final class AgentThread extends Thread {
    /** Bytes; the deepest call of ours is a JSON value of 16 levels. */
    private static final long STACK_BYTES = 512 << 10;
    /** Those that run. */
    private static final Set<Thread> RUNNING = ConcurrentHashMap.newKeySet();

    private AgentThread(String name, Runnable work) {
        super(null, work, name, STACK_BYTES, false);
    }

    /** Starts a thread. Throws OutOfMemoryError where the process may have no more threads. */
    public static Thread start(String name, Runnable work) {
        AgentThread thread = new AgentThread(name, () -> {
            try {
                work.run();
            } catch (Throwable mistake) { // of ours: it must not end in a trace on the host's stderr
                return;
            } finally {
                RUNNING.remove(Thread.currentThread());
            }
        });
        thread.setDaemon(true);
        thread.setContextClassLoader(ClassLoader.getSystemClassLoader()); // not one that the host wants to unload
        RUNNING.add(thread);
        try {
            thread.start();
        } catch (OutOfMemoryError noThread) {
            RUNNING.remove(thread);
            throw noThread;
        }
        return thread;
    }

    /** Waits until no thread of the agent runs but the current one; false if one does so for longer than this. */
    public static boolean awaitOthers(long milliseconds) throws InterruptedException {
        long untilNs = System.nanoTime() + milliseconds * 1_000_000;
        while (true) {
            Thread other = RUNNING.stream().filter(each -> each != Thread.currentThread()).findAny().orElse(null);
            if (other == null) {
                return true;
            }
            long leftMs = (untilNs - System.nanoTime()) / 1_000_000;
            if (leftMs <= 0) {
                return false;
            }
            other.join(leftMs);
        }
    }

    /**
     * Waits a moment, and allocates nothing: for loops that go on after an error. An interrupt ends the wait and is
     * forgotten: the agent never ends its threads that way, but a host may interrupt all threads of a ThreadGroup.
     */
    public static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException notOurs) {
            return;
        }
    }

    /** Tells whether the current thread is one of the agent's. */
    public static boolean isCurrent() {
        return Thread.currentThread() instanceof AgentThread;
    }
}
