package net.adocd.agent.http;

/** The peer went away, or took too long. */
final class GoneException extends Exception {
    private static final long serialVersionUID = 1;

    GoneException() {
        super("the peer is gone", null, false, false);
    }
}
