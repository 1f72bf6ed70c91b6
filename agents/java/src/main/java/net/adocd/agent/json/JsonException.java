package net.adocd.agent.json;

/** Text that is not JSON; the message says what is wrong and at which byte. */
public final class JsonException extends Exception {
    private static final long serialVersionUID = 1;

    JsonException(String message) {
        super(message, null, false, false);
    }
}
