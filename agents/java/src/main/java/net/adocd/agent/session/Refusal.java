package net.adocd.agent.session;

import java.util.LinkedHashMap;
import java.util.Map;

/** A request that the agent refuses, as the protocol's problem details (RFC 9457). */
public final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;
    private static final int SHOWN = 100;

    /** The HTTP status. */
    public final int status;
    private final transient Map<String, Object> body = new LinkedHashMap<>();

    /** Refuses with an HTTP status, the protocol's stable word, and one sentence. */
    public Refusal(int status, String code, String detail) {
        super(detail, null, false, false);
        this.status = status;
        body.put("type", "about:blank");
        body.put("title", title(status));
        body.put("status", status);
        body.put("detail", detail);
        body.put("code", code);
    }

    /** Adds a member, for example the option at fault. */
    public Refusal with(String name, String value) {
        body.put(name, value);
        return this;
    }

    /** Returns the problem details. */
    public Map<String, Object> body() {
        return body;
    }

    /** Returns the refusal for a request during or after the close. */
    public static Refusal databaseClosed() {
        return new Refusal(409, "database_closed", "The database was closed; list the databases again.");
    }

    /** Quotes what a client sent, shortened, for a sentence. */
    public static String shown(String text) {
        String cut = text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "...";
        StringBuilder quoted = new StringBuilder("'");
        for (int i = 0; i < cut.length(); i++) {
            char each = cut.charAt(i);
            if (Character.isISOControl(each)) {
                quoted.append(String.format("\\x%02x", (int) each));
            } else {
                quoted.append(each);
            }
        }
        return quoted.append('\'').toString();
    }

    /** Returns an HTTP status in words. */
    public static String title(int status) {
        return switch (status) {
            case 200 -> "OK";
            case 202 -> "Accepted";
            case 400 -> "Bad Request";
            case 403 -> "Forbidden";
            case 404 -> "Not Found";
            case 405 -> "Method Not Allowed";
            case 409 -> "Conflict";
            case 413 -> "Request Entity Too Large";
            case 422 -> "Unprocessable Entity";
            case 500 -> "Internal Server Error";
            case 503 -> "Service Unavailable";
            default -> "Status " + status;
        };
    }
}
