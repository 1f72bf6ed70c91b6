package net.adocd.agent.service;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * A request's path and query, decoded.
 *
 * @param path with its percent signs resolved
 * @param query the last value of each name
 */
record Target(String path, Map<String, String> query) {
    private static final int MOST_FIELDS = 100;

    /** Reads a request target: a path, or an absolute URL, whose host is ignored. */
    static Target of(String written) {
        String text = written;
        int scheme = text.indexOf("://");
        if (scheme > 0 && !text.startsWith("/")) {
            int slash = text.indexOf('/', scheme + 3);
            text = slash < 0 ? "/" : text.substring(slash);
        }
        int fragment = text.indexOf('#');
        text = fragment < 0 ? text : text.substring(0, fragment);
        int mark = text.indexOf('?');
        String path = mark < 0 ? text : text.substring(0, mark);
        Map<String, String> query = new HashMap<>();
        if (mark >= 0) {
            for (String field : text.substring(mark + 1).split("&", MOST_FIELDS)) {
                int equals = field.indexOf('=');
                if (equals >= 0) {
                    query.put(decoded(field.substring(0, equals), true), decoded(field.substring(equals + 1), true));
                } else if (!field.isEmpty()) {
                    query.put(decoded(field, true), "");
                }
            }
        }
        return new Target(decoded(path, false), query);
    }

    /** A percent sign without two digits after it stays as it is. */
    private static String decoded(String text, boolean plusIsSpace) {
        if (text.indexOf('%') < 0 && text.indexOf('+') < 0) {
            return text;
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream found = new ByteArrayOutputStream(bytes.length);
        for (int i = 0; i < bytes.length; i++) {
            int high = i + 2 < bytes.length ? Character.digit(bytes[i + 1], 16) : -1;
            int low = i + 2 < bytes.length ? Character.digit(bytes[i + 2], 16) : -1;
            if (bytes[i] == '%' && high >= 0 && low >= 0) {
                found.write(high * 16 + low);
                i += 2;
            } else {
                found.write(plusIsSpace && bytes[i] == '+' ? ' ' : bytes[i]);
            }
        }
        return found.toString(StandardCharsets.UTF_8);
    }
}
