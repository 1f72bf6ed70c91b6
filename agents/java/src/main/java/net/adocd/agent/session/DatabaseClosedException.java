package net.adocd.agent.session;

/** The host has closed the database, or is about to. */
public final class DatabaseClosedException extends Exception {
    private static final long serialVersionUID = 1;

    /** Makes one; it carries no stack trace, because it is an answer and no fault. */
    public DatabaseClosedException() {
        super("the database was closed", null, false, false);
    }
}
