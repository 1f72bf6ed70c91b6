package net.adocd.agent.json;

import java.util.Collection;
import java.util.Map;

/** Writes {@code Map}, {@code Collection}, {@code CharSequence}, numbers, {@code Boolean} and null as JSON. */
public final class JsonWriter {
    private JsonWriter() { }

    /** Returns the value as compact JSON text. Throws IllegalArgumentException for a type that JSON does not have. */
    public static String write(Object value) {
        StringBuilder out = new StringBuilder(1024);
        append(out, value);
        return out.toString();
    }

    private static void append(StringBuilder out, Object value) {
        if (value == null || value instanceof Boolean || value instanceof Long || value instanceof Integer) {
            out.append(value);
        } else if (value instanceof Double number) {
            if (number.isNaN() || number.isInfinite()) {
                throw new IllegalArgumentException("JSON has no " + number);
            }
            out.append(number.doubleValue());
        } else if (value instanceof CharSequence text) {
            appendText(out, text);
        } else if (value instanceof Map<?, ?> members) {
            char before = '{';
            for (Map.Entry<?, ?> member : members.entrySet()) {
                out.append(before);
                appendText(out, (CharSequence) member.getKey());
                out.append(':');
                append(out, member.getValue());
                before = ',';
            }
            out.append(before == '{' ? "{}" : "}");
        } else if (value instanceof Collection<?> items) {
            char before = '[';
            for (Object item : items) {
                out.append(before);
                append(out, item);
                before = ',';
            }
            out.append(before == '[' ? "[]" : "]");
        } else {
            throw new IllegalArgumentException("JSON has no " + value.getClass().getName());
        }
    }

    private static void appendText(StringBuilder out, CharSequence text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char each = text.charAt(i);
            if (each == '"' || each == '\\') {
                out.append('\\').append(each);
            } else if (each < ' ' || isUnpaired(text, i)) {
                out.append(String.format("\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        out.append('"');
    }

    /** Half of a surrogate pair alone has no UTF-8; escaped, it arrives as it was. */
    private static boolean isUnpaired(CharSequence text, int at) {
        char each = text.charAt(at);
        if (Character.isHighSurrogate(each)) {
            return at + 1 >= text.length() || !Character.isLowSurrogate(text.charAt(at + 1));
        }
        return Character.isLowSurrogate(each) && (at == 0 || !Character.isHighSurrogate(text.charAt(at - 1)));
    }
}
