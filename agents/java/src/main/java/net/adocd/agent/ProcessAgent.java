package net.adocd.agent;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import net.adocd.agent.http.Peers;
import net.adocd.agent.http.RunDirectory;
import net.adocd.agent.http.Server;
import net.adocd.agent.rocksdb.Databases;
import net.adocd.agent.rocksdb.Registry;
import net.adocd.agent.service.Service;
import net.adocd.agent.session.Capabilities;
import net.adocd.agent.session.DatabaseClosedException;
import net.adocd.agent.session.Session;

/**
 * The agent of this process: one socket, one sampling thread, any number of databases. It listens from the first
 * database until the process or its attachment ends; before that it has one thread, which sleeps.
 */
final class ProcessAgent {
    /** Interval at which databases are polled (ms). */
    private static final long TICK_MS = 100;
    /** Most databases whose stall condition is looked at in one interval; of more, each has its turn later. */
    private static final int LOOKS = 30;
    /** Pause before it tries again to listen (ms): the JVM writes a warning for each thread that cannot start. */
    private static final long LISTEN_AGAIN_MS = 3_000;
    /** Longest wait for calls under way when the process ends (ms). */
    private static final long END_MS = 500;

    private final Settings settings;
    private final Semaphore news = new Semaphore(0);
    private final Registry registry = new Registry(this::wake);
    private final String hostName = hostName();
    private final Databases databases = new Databases(registry, hostName, this::wake);
    private volatile Server server;
    private volatile Path socket;
    private volatile boolean stopped;
    private volatile boolean detaching;
    private long lookedNs = System.nanoTime();
    private int turn;
    private Thread atExit;
    private Runnable unhook = () -> { };

    ProcessAgent(Settings settings) {
        this.settings = settings;
    }

    Registry registry() {
        return registry;
    }

    /** Begins; its threads are daemons. {@code unhook} takes the hooks out of the host if it cannot listen. */
    void start(Runnable unhook) {
        this.unhook = unhook;
        atExit = new Thread(null, this::stop, "adocd-stop", 0, false);
        Runtime.getRuntime().addShutdownHook(atExit);
        AgentThread.start("adocd-sample", this::sample);
    }

    /** Tells whether it ended, or could never listen. */
    boolean isStopped() {
        return stopped;
    }

    /** Returns the path of a database whose restore waits for a condition, perhaps for long; null if none. */
    String waitingDatabase() {
        return databases.sessions().stream().filter(Session::isWaiting)
            .map(each -> each.database.path()).findFirst().orElse(null);
    }

    /** Begins to end while the process goes on: its threads leave as soon as their calls into RocksDB return. */
    void detach() {
        detaching = true;
        stopped = true;
        closeSocket();
        wake();
    }

    /** Lets go of all that is the host's; when the hooks are out and no thread of the agent runs. */
    void letGo() {
        databases.end();
        registry.end();
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException exiting) {
            return;
        }
    }

    private void wake() {
        if (news.availablePermits() == 0) {
            news.release();
        }
    }

    /** At the end of the process: RocksDB's statics are about to go, so no call may be under way or begin. */
    private void stop() {
        stopped = true;
        registry.closeAll(END_MS);
        closeSocket();
    }

    private void closeSocket() {
        Server listening = server;
        if (listening != null) {
            listening.stop();
        }
        Path left = socket;
        if (left != null) {
            try {
                Files.deleteIfExists(left);
            } catch (IOException impossible) {
                return;
            }
        }
    }

    /** Whatever is thrown, the thread goes on: nobody else takes up databases, ends their sessions or listens. */
    private void sample() {
        while (!stopped) {
            try {
                if (server == null) {
                    news.acquire();
                } else {
                    news.tryAcquire(TICK_MS, TimeUnit.MILLISECONDS);
                }
                tick();
            } catch (InterruptedException notOurs) { // see AgentThread.pause
                continue;
            } catch (RuntimeException | Error mistake) { // shows in the age of the snapshots
                AgentThread.pause(TICK_MS);
                wake(); // what woke it is not done
            }
        }
        while (detaching) {
            try {
                closeSocket(); // it may have begun to listen meanwhile
                restoreAll();
                databases.end();
                return;
            } catch (OutOfMemoryError passing) { // without all that, the host would keep the changed values
                AgentThread.pause(TICK_MS);
            }
        }
    }

    /** Ends all leases, also those of requests that were under way when the socket was closed, and restores. */
    private void restoreAll() {
        for (Session session : databases.sessions()) {
            try {
                session.release(null, null, true, true);
            } catch (DatabaseClosedException closed) {
                continue;
            }
        }
        while (databases.sessions().stream().anyMatch(each -> !each.isClosed() && each.isChanged())) {
            databases.sessions().forEach(each -> attempt(each::look)); // a restore waits behind a change that waits
            AgentThread.pause(TICK_MS / 10);
        }
    }

    private void tick() {
        databases.update();
        List<Session> sessions = databases.sessions();
        if (server == null && sessions.isEmpty()) {
            retrySoon();
            return;
        }
        if (!listens()) {
            return;
        }
        server.closeOverdue();
        sessions.forEach(session -> attempt(session.snapshots::refresh));
        lookInTurn(sessions);
    }

    /** Looks at the stall condition once in an interval, however often requests wake the thread in it. */
    private void lookInTurn(List<Session> sessions) {
        long nowNs = System.nanoTime();
        if (nowNs - lookedNs < TimeUnit.MILLISECONDS.toNanos(TICK_MS)) {
            return;
        }
        lookedNs = nowNs;
        for (int looked = 0; looked < Math.min(LOOKS, sessions.size()); looked++) {
            turn = (turn + 1) % sessions.size();
            attempt(sessions.get(turn)::look);
        }
    }

    /** Something that is done in a database. */
    @FunctionalInterface
    private interface Work {
        void run() throws DatabaseClosedException;
    }

    /** Does it; a database that fails must not keep the others. */
    private static void attempt(Work work) {
        try {
            work.run();
        } catch (DatabaseClosedException | RuntimeException | Error unreadable) {
            return;
        }
    }

    /** A database that is in the middle of its open tells nothing more when it is through. */
    private void retrySoon() {
        if (databases.isIncomplete()) {
            try {
                news.tryAcquire(TICK_MS / 10, TimeUnit.MILLISECONDS);
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
            }
            wake();
        }
    }

    /** Sees to it that it listens, also after an interrupt of the thread that did; false if the agent ends. */
    private boolean listens() {
        if (server != null && server.isListening()) {
            return true;
        }
        if (!stopped) {
            closeSocket(); // the connections of a server that no longer listens: their clients find the next one
            listen();
        }
        if (stopped) { // whoever stopped it may have looked for the socket before it was there
            closeSocket();
        }
        return !stopped;
    }

    private void listen() {
        try {
            RunDirectory.Listening listening = RunDirectory.listen(RunDirectory.find(settings));
            socket = listening.path();
            serve(listening);
        } catch (RunDirectory.CannotListenException error) {
            if (server != null) { // it could once, and may have leases to end: it tries again
                throw new IllegalStateException(error);
            }
            stopped = true;
            unhook.run();
            letGo();
            Agent.complain(error.getMessage());
            throw new IllegalStateException(error);
        }
    }

    private void serve(RunDirectory.Listening listening) {
        try {
            server = new Server(
                listening.channel(), new Service(this::info, databases::sessions),
                new Peers(settings.get("ADOCD_ALLOW_UIDS")));
        } catch (RuntimeException | Error mistake) { // the process may have no more threads: clients must not wait
            listening.close();
            closeSocket();
            AgentThread.pause(LISTEN_AGAIN_MS);
            throw mistake;
        }
    }

    /** Returns the answer of /v1/info. */
    private Map<String, Object> info() {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("protocol", Service.PROTOCOL);
        told.put("agent", Map.of("kind", "java", "version", version()));
        told.put("rocksdb_version", databases.rocksdbVersion());
        told.put("host", hostName);
        told.put("pid", ProcessHandle.current().pid());
        told.put("program", program());
        told.put("user", Peers.userName());
        told.put("capabilities", capabilities().asJson());
        return told;
    }

    /** What some database here can do. */
    private Capabilities capabilities() {
        Set<String> family = new TreeSet<>();
        Set<String> database = new TreeSet<>();
        for (Session session : databases.sessions()) {
            family.addAll(session.database.catalogue().columnFamily().keySet());
            database.addAll(session.database.catalogue().database().keySet());
        }
        return new Capabilities(family, database, true, List.of("low", "high", "bottom"), "all");
    }

    private static String version() {
        String found = ProcessAgent.class.getPackage().getImplementationVersion();
        return found == null ? "unknown" : found;
    }

    /** Returns the main class or the jar: "java" would name every program of this kind. */
    private static String program() {
        String first = System.getProperty("sun.java.command", "").split(" ", 2)[0];
        String name = first.substring(first.lastIndexOf('/') + 1);
        return name.isEmpty() ? "java" : name;
    }

    private static String hostName() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException unreadable) {
            return "localhost";
        }
    }
}
