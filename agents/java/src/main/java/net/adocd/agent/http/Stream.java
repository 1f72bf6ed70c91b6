package net.adocd.agent.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Arrays;

/**
 * A connection with deadlines. The channel blocks; the server's {@link Server#closeOverdue} closes it when a deadline
 * has passed, because a channel of a Unix socket has no timeout of its own.
 */
final class Stream {
    private static final long DRAIN_NS = 1_000_000_000L;
    private static final int DRAIN_BYTES = 16 << 20;
    private static final int CHUNK = 1 << 14;

    private final SocketChannel channel;
    private byte[] buffer = new byte[1024];
    private int begin;
    private int end;
    private volatile long deadlineNs = Long.MAX_VALUE;

    Stream(SocketChannel channel) {
        this.channel = channel;
    }

    /** Sets when the connection is closed, in nanoseconds from now. */
    void limit(long forNs) {
        deadlineNs = System.nanoTime() + forNs;
    }

    /** Closes the channel if its deadline has passed. */
    void closeIfOverdue() {
        if (deadlineNs != Long.MAX_VALUE && System.nanoTime() - deadlineNs > 0) {
            close();
        }
    }

    void close() {
        try {
            channel.close();
        } catch (IOException gone) {
            return;
        }
    }

    /** Whether nothing of a next request has come. */
    boolean isEmpty() {
        return begin == end;
    }

    /** Receives more; throws GoneException at the end, on an error and after the deadline. */
    void fill() throws GoneException {
        if (begin == end) {
            begin = 0;
            end = 0;
        }
        if (end == buffer.length) {
            if (begin > 0) {
                System.arraycopy(buffer, begin, buffer, 0, end - begin);
                end -= begin;
                begin = 0;
            } else {
                buffer = Arrays.copyOf(buffer, buffer.length + CHUNK);
            }
        }
        end += receive(ByteBuffer.wrap(buffer, end, buffer.length - end));
    }

    private int receive(ByteBuffer into) throws GoneException {
        try {
            int count = channel.read(into);
            if (count < 0) {
                throw new GoneException();
            }
            return count;
        } catch (IOException gone) {
            throw new GoneException();
        }
    }

    /** Takes everything before the first empty line; null if there is none in the first {@code most} bytes. */
    byte[] takeHead(int most) throws GoneException {
        int searched = 0;
        while (true) {
            while (end - begin >= 2 && buffer[begin] == '\r' && buffer[begin + 1] == '\n') {
                begin += 2; // RFC 9112, 2.2: empty lines before a request are ignored
                searched = 0;
            }
            for (; searched + 4 <= end - begin; searched++) {
                int at = begin + searched;
                if (buffer[at] == '\r' && buffer[at + 1] == '\n' && buffer[at + 2] == '\r' && buffer[at + 3] == '\n') {
                    byte[] head = Arrays.copyOfRange(buffer, begin, at);
                    begin = at + 4;
                    return searched > most ? null : head;
                }
            }
            if (end - begin > most) {
                return null;
            }
            fill();
        }
    }

    /** Takes exactly this many bytes. */
    byte[] take(int count) throws GoneException {
        byte[] data = new byte[count];
        int have = Math.min(count, end - begin);
        System.arraycopy(buffer, begin, data, 0, have);
        begin += have;
        while (have < count) {
            have += receive(ByteBuffer.wrap(data, have, Math.min(CHUNK, count - have)));
        }
        return data;
    }

    /** Sends everything before the deadline. */
    void send(byte[] data) throws GoneException {
        try {
            ByteBuffer rest = ByteBuffer.wrap(data);
            while (rest.hasRemaining()) {
                channel.write(rest);
            }
        } catch (IOException gone) {
            throw new GoneException();
        }
    }

    /** Reads on for a moment: closing with unread bytes resets, and a client still sending never reads us. */
    void drain() {
        limit(DRAIN_NS);
        long drained = 0;
        try {
            channel.shutdownOutput();
            while (drained < DRAIN_BYTES) {
                begin = 0;
                end = 0;
                fill();
                drained += end;
            }
        } catch (GoneException | IOException done) {
            return;
        }
    }
}
