package net.adocd.agent;

/** Threads of the agent: daemons that take nothing of the host's with them and never write to its output. */
public final class AgentThread extends Thread {
    /** Bytes; the deepest call of ours is a JSON value of 16 levels. */
    private static final long STACK_BYTES = 512 << 10;

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
            }
        });
        thread.setDaemon(true);
        thread.setContextClassLoader(ClassLoader.getSystemClassLoader()); // not one that the host wants to unload
        thread.start();
        return thread;
    }

    /** Tells whether the current thread is one of the agent's. */
    public static boolean isCurrent() {
        return Thread.currentThread() instanceof AgentThread;
    }
}
