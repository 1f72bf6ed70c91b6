package net.adocd.agent.http;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import net.adocd.agent.json.JsonWriter;
import net.adocd.agent.session.Refusal;

/**
 * The part of HTTP/1.1 that the protocol needs: reads one request with limits on size and time, writes one answer. Not
 * the JDK's server: it has no Unix sockets.
 */
final class HttpMessages {
    static final int MAX_BODY_BYTES = 1 << 20;
    static final int MAX_HEAD_BYTES = 16 << 10;
    /** Longest time for a head, a body, or reading our answer, once it has begun (ns). */
    static final long TRANSFER_NS = 10_000_000_000L;
    private static final int MAX_LENGTH_DIGITS = 20;

    private HttpMessages() { }

    /** Reads one request whose first bytes have come; throws Refusal or GoneException. */
    static Request read(Stream stream) throws GoneException {
        stream.limit(TRANSFER_NS);
        byte[] head = stream.takeHead(MAX_HEAD_BYTES);
        if (head == null) {
            throw bad("Request line and headers may have " + MAX_HEAD_BYTES + " bytes.");
        }
        String[] lines = new String(head, StandardCharsets.ISO_8859_1).split("\r\n", -1);
        String[] words = lines[0].split(" ", -1);
        if (words.length != 3 || !words[0].matches("[A-Za-z]+") || words[1].isEmpty()
                || !(words[2].equals("HTTP/1.1") || words[2].equals("HTTP/1.0"))) {
            throw bad("This is not an HTTP/1.1 request line.");
        }
        Map<String, String> headers = headers(lines);
        int length = contentLength(headers);
        if (headers.getOrDefault("expect", "").equalsIgnoreCase("100-continue")) {
            stream.send("HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        }
        stream.limit(TRANSFER_NS);
        byte[] body = stream.take(length);
        boolean keepAlive = words[2].equals("HTTP/1.1");
        for (String word : headers.getOrDefault("connection", "").split(",")) {
            keepAlive &= !word.strip().equalsIgnoreCase("close");
        }
        return new Request(words[0], words[1], body, keepAlive);
    }

    private static Map<String, String> headers(String[] lines) {
        Map<String, String> headers = new HashMap<>();
        for (int i = 1; i < lines.length; i++) {
            int colon = lines[i].indexOf(':');
            String name = colon < 0 ? "" : lines[i].substring(0, colon).toLowerCase(Locale.ROOT);
            if (name.isEmpty() || !name.equals(name.strip())) {
                throw bad("A header is a name, a colon and a value.");
            }
            String value = lines[i].substring(colon + 1).strip();
            if (name.equals("content-length") && !headers.getOrDefault(name, value).equals(value)) {
                throw bad("There are two different Content-Lengths.");
            }
            headers.put(name, value);
        }
        return headers;
    }

    private static int contentLength(Map<String, String> headers) {
        if (headers.containsKey("transfer-encoding")) {
            throw bad("Send the body with a Content-Length.");
        }
        String word = headers.getOrDefault("content-length", "0");
        if (!word.matches("[0-9]+")) {
            throw bad("Content-Length is not a number.");
        }
        if (word.length() > MAX_LENGTH_DIGITS || new java.math.BigInteger(word).bitLength() > 31
                || Long.parseLong(word) > MAX_BODY_BYTES) {
            throw new Refusal(413, "too_large",
                "A body may have " + MAX_BODY_BYTES + " bytes; send fewer changes at a time.");
        }
        return Integer.parseInt(word);
    }

    private static Refusal bad(String detail) {
        return new Refusal(400, "bad_request", detail);
    }

    /** Writes an answer; refusals are problem details. {@code headOnly}: the request was HEAD. */
    static byte[] answer(int status, Object body, boolean close, boolean headOnly) {
        byte[] data = JsonWriter.write(body).getBytes(StandardCharsets.UTF_8);
        String head = "HTTP/1.1 " + status + " " + Refusal.title(status) + "\r\n"
            + "Content-Type: " + (status >= 400 ? "application/problem+json" : "application/json") + "\r\n"
            + "Content-Length: " + data.length + "\r\nCache-Control: no-store\r\n"
            + (close ? "Connection: close\r\n\r\n" : "\r\n");
        byte[] written = head.getBytes(StandardCharsets.US_ASCII);
        if (headOnly) {
            return written;
        }
        byte[] whole = java.util.Arrays.copyOf(written, written.length + data.length);
        System.arraycopy(data, 0, whole, written.length, data.length);
        return whole;
    }
}
