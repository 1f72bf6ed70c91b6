package net.adocd.agent.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import net.adocd.agent.AgentThread;
import net.adocd.agent.service.Service;
import net.adocd.agent.session.Refusal;

/** Serves one listening Unix socket: one thread a connection, and a limited number of connections. */
public final class Server {
    /** Most connections, and threads, at once. One more closes the connection that has been idle longest. */
    private static final int MAX_CONNECTIONS = 64;
    /** Most connections of users without access at once; they do not count as connections above. */
    private static final int MAX_STRANGERS = 4;
    /** Longest wait of a connection for its next request (ns). */
    private static final long IDLE_NS = 60_000_000_000L;
    private static final long BUSY_PAUSE_MS = 100;

    private final ServerSocketChannel listener;
    private final Service service;
    private final Peers peers;
    /** When each connection began to wait for a request (System.nanoTime), or BUSY. */
    private final Map<Stream, Long> idleSinceNs = new ConcurrentHashMap<>();
    private final Set<Stream> strangers = ConcurrentHashMap.newKeySet();
    private volatile boolean stopped;

    private static final long BUSY = Long.MAX_VALUE;

    /** Begins to serve. Throws OutOfMemoryError where the process may have no more threads. */
    public Server(ServerSocketChannel listener, Service service, Peers peers) {
        this.listener = listener;
        this.service = service;
        this.peers = peers;
        AgentThread.start("adocd-http", this::accept);
    }

    /** Breaks off every connection wherever it is, and refuses new ones. */
    public void stop() {
        stopped = true;
        try {
            listener.close();
        } catch (IOException closed) {
            stopped = true;
        }
        idleSinceNs.keySet().forEach(Stream::close);
        strangers.forEach(Stream::close);
    }

    /** Closes the connections whose deadline has passed; to be called some ten times a second. */
    public void closeOverdue() {
        idleSinceNs.keySet().forEach(Stream::closeIfOverdue);
        strangers.forEach(Stream::closeIfOverdue);
    }

    /** Tells whether it listens; no more after {@link #stop}, nor after an interrupt, which closes its channel. */
    public boolean isListening() {
        return listener.isOpen();
    }

    private void accept() {
        while (isListening()) {
            try {
                admit(listener.accept());
            } catch (IOException | OutOfMemoryError busy) { // out of descriptors or of threads
                AgentThread.pause(BUSY_PAUSE_MS);
            }
        }
    }

    private void admit(SocketChannel channel) throws IOException {
        Stream stream = new Stream(channel);
        try {
            if (!peers.allows(channel)) {
                if (strangers.size() >= MAX_STRANGERS) {
                    stream.close();
                    return;
                }
                strangers.add(stream);
                AgentThread.start("adocd-client", () -> tellStranger(stream));
            } else if (idleSinceNs.size() >= MAX_CONNECTIONS && !evict()) {
                turnAway(channel);
            } else {
                idleSinceNs.put(stream, System.nanoTime());
                AgentThread.start("adocd-client", () -> serve(stream));
            }
            if (stopped) { // stop() may have looked before this one was there
                stream.close();
            }
        } catch (OutOfMemoryError noThread) {
            forget(stream);
            throw noThread;
        }
    }

    private void forget(Stream stream) {
        idleSinceNs.remove(stream);
        strangers.remove(stream);
        stream.close();
    }

    /** Closes the connection that has waited longest for its client's next request; false if none waits. */
    private boolean evict() {
        Stream oldest = idleSinceNs.entrySet().stream()
            .filter(each -> each.getValue() != BUSY)
            .min(Comparator.comparingLong(each -> each.getValue() - System.nanoTime()))
            .map(Map.Entry::getKey).orElse(null);
        if (oldest != null) {
            forget(oldest);
        }
        return oldest != null;
    }

    private static void turnAway(SocketChannel channel) throws IOException {
        Refusal busy = new Refusal(503, "unavailable",
            "All " + MAX_CONNECTIONS + " connections are busy; try again.");
        try (channel) {
            channel.configureBlocking(false);
            channel.write(ByteBuffer.wrap(HttpMessages.answer(busy.status, busy.body(), true, false)));
        }
    }

    private void serve(Stream stream) {
        try {
            boolean goesOn = true;
            while (goesOn) {
                goesOn = serveOne(stream);
            }
            stream.drain();
        } catch (GoneException gone) {
            return;
        } finally {
            forget(stream);
        }
    }

    private void tellStranger(Stream stream) {
        Refusal refusal = new Refusal(403, "forbidden",
            "Your user may not talk to this agent; add its uid to ADOCD_ALLOW_UIDS.");
        try {
            stream.limit(HttpMessages.TRANSFER_NS);
            stream.send(HttpMessages.answer(refusal.status, refusal.body(), true, false));
            stream.drain();
        } catch (GoneException gone) {
            return;
        } finally {
            forget(stream);
        }
    }

    /** Answers one request; false when the connection is to be closed after it. */
    private boolean serveOne(Stream stream) throws GoneException {
        idleSinceNs.replace(stream, System.nanoTime());
        if (stream.isEmpty()) {
            stream.limit(IDLE_NS);
            stream.fill();
        }
        Request request;
        try {
            request = HttpMessages.read(stream);
        } catch (Refusal refusal) { // the following bytes may belong to a body
            stream.limit(HttpMessages.TRANSFER_NS);
            stream.send(HttpMessages.answer(refusal.status, refusal.body(), true, false));
            return false;
        }
        idleSinceNs.replace(stream, BUSY);
        stream.limit(Long.MAX_VALUE >> 1); // a change takes as long as it takes
        Service.Answer answer = handle(request);
        if (stopped) {
            return false;
        }
        byte[] written = HttpMessages.answer(
            answer.status(), answer.body(), !request.keepAlive(), request.method().equals("HEAD"));
        stream.limit(HttpMessages.TRANSFER_NS);
        stream.send(written);
        return request.keepAlive();
    }

    private Service.Answer handle(Request request) {
        try {
            return service.answer(request.method(), request.target(), request.body());
        } catch (Refusal refusal) {
            return new Service.Answer(refusal.status, refusal.body());
        } catch (RuntimeException | StackOverflowError mistake) {
            Refusal problem = new Refusal(500, "internal", "The agent failed: " + mistake + ".");
            return new Service.Answer(problem.status, problem.body());
        }
    }
}
