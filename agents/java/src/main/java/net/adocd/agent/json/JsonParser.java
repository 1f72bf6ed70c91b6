package net.adocd.agent.json;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads JSON (RFC 8259) into {@code Map}, {@code List}, {@code String}, {@code Long}, {@code BigInteger},
 * {@code Double}, {@code Boolean} and null.
 *
 * <p>Depth and number of values are limited by the caller with {@link #isBounded} before anything is allocated.
 */
public final class JsonParser {
    private final String text;
    private int at;

    private JsonParser(String text) {
        this.text = text;
    }

    /** Parses UTF-8 bytes. Throws JsonException for anything that is not exactly one JSON value. */
    public static Object parse(byte[] data) throws JsonException {
        String text;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data)).toString();
        } catch (CharacterCodingException error) {
            throw new JsonException("it is not UTF-8");
        }
        JsonParser parser = new JsonParser(text);
        Object value = parser.value();
        parser.skipSpace();
        if (parser.at < text.length()) {
            throw parser.wrong("the end was expected");
        }
        return value;
    }

    /** Tells whether the bytes nest at most {@code depth} levels and have at most {@code values} values. */
    public static boolean isBounded(byte[] data, int depth, int values) {
        boolean inString = false;
        int level = 0;
        int count = 0;
        for (int i = 0; i < data.length; i++) {
            byte each = data[i];
            if (inString) {
                if (each == '\\') {
                    i++;
                } else if (each == '"') {
                    inString = false;
                }
                continue;
            }
            switch (each) {
                case '"' -> inString = true;
                case '[', '{' -> {
                    level++;
                    count++;
                }
                case ']', '}' -> level--;
                case ',' -> count++;
                default -> { }
            }
            if (level > depth || count > values) {
                return false;
            }
        }
        return true;
    }

    private Object value() throws JsonException {
        skipSpace();
        if (at >= text.length()) {
            throw wrong("a value was expected");
        }
        return switch (text.charAt(at)) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> object() throws JsonException {
        Map<String, Object> members = new LinkedHashMap<>();
        at++;
        if (taken('}')) {
            return members;
        }
        do {
            skipSpace();
            if (at >= text.length() || text.charAt(at) != '"') {
                throw wrong("a member's name was expected");
            }
            String name = string();
            if (!taken(':')) {
                throw wrong("a colon was expected");
            }
            members.put(name, value());
        } while (taken(','));
        if (!taken('}')) {
            throw wrong("a comma or the object's end was expected");
        }
        return members;
    }

    private List<Object> array() throws JsonException {
        List<Object> items = new ArrayList<>();
        at++;
        if (taken(']')) {
            return items;
        }
        do {
            items.add(value());
        } while (taken(','));
        if (!taken(']')) {
            throw wrong("a comma or the array's end was expected");
        }
        return items;
    }

    private String string() throws JsonException {
        StringBuilder found = new StringBuilder();
        for (at++; at < text.length(); at++) {
            char each = text.charAt(at);
            if (each == '"') {
                at++;
                return found.toString();
            }
            if (each < ' ') {
                throw wrong("a control character must be escaped");
            }
            found.append(each == '\\' ? escaped() : each);
        }
        throw wrong("a string does not end");
    }

    private char escaped() throws JsonException {
        at++;
        char kind = at < text.length() ? text.charAt(at) : ' ';
        return switch (kind) {
            case '"', '\\', '/' -> kind;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> unicode();
            default -> throw wrong("there is no such escape");
        };
    }

    private char unicode() throws JsonException {
        int code = 0;
        for (int i = 0; i < 4; i++) {
            at++;
            int digit = at < text.length() ? Character.digit(text.charAt(at), 16) : -1;
            if (digit < 0 || text.charAt(at) > 'f') {
                throw wrong("four hexadecimal digits were expected");
            }
            code = code * 16 + digit;
        }
        return (char) code;
    }

    private Object word(String word, Object meaning) throws JsonException {
        if (!text.startsWith(word, at)) {
            throw wrong("a value was expected");
        }
        at += word.length();
        return meaning;
    }

    private Object number() throws JsonException {
        int begin = at;
        if (at < text.length() && text.charAt(at) == '-') {
            at++;
        }
        int first = at;
        digits();
        if (text.charAt(first) == '0' && at - first > 1) {
            throw wrong("a number does not begin with 0");
        }
        boolean whole = true;
        if (at < text.length() && text.charAt(at) == '.') {
            whole = false;
            at++;
            digits();
        }
        if (at < text.length() && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
            whole = false;
            at++;
            if (at < text.length() && (text.charAt(at) == '+' || text.charAt(at) == '-')) {
                at++;
            }
            digits();
        }
        String found = text.substring(begin, at);
        if (!whole) {
            return Double.valueOf(found);
        }
        if (found.length() <= 18) {
            return Long.valueOf(found);
        }
        if (found.length() > 1000) { // its time is quadratic, and no request has such a number
            throw wrong("the number is too long");
        }
        BigInteger exact = new BigInteger(found);
        return exact.bitLength() < 64 ? (Object) exact.longValue() : exact;
    }

    private void digits() throws JsonException {
        int begin = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == begin) {
            throw wrong("a value was expected");
        }
    }

    private boolean taken(char wanted) {
        skipSpace();
        if (at < text.length() && text.charAt(at) == wanted) {
            at++;
            return true;
        }
        return false;
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private JsonException wrong(String what) {
        return new JsonException(what + " at character " + at);
    }
}
