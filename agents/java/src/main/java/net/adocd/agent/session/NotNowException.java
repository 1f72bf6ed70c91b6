package net.adocd.agent.session;

/** A restore step has to wait; the message says for what. */
final class NotNowException extends Exception {
    private static final long serialVersionUID = 1;

    /** Makes one; it carries no stack trace, because it is an answer and no fault. */
    NotNowException(String missing) {
        super(missing, null, false, false);
    }
}
