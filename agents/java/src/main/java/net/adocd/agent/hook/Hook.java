package net.adocd.agent.hook;

import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * What the woven calls in RocksDB's classes go to. It is defined once more into each class loader that has a RocksDB
 * and cannot see the agent's jar, so it refers to nothing but the JDK. Nothing that is thrown behind it reaches the
 * host.
 */
public final class Hook {
    /** Set by the agent; null until then. */
    public static volatile Consumer<Object> opened;
    /** Takes a database and its options. */
    public static volatile BiConsumer<Object, Object> options;
    /** Takes a database that was opened read-only, or as a secondary instance. */
    public static volatile Consumer<Object> readOnly;
    /** Takes a database that is about to close. */
    public static volatile Consumer<Object> closing;
    /** Takes a database, and the handle, or a list of those, whose column families are about to be dropped. */
    public static volatile BiConsumer<Object, Object> dropping;
    /** Takes the same after the drop. */
    public static volatile BiConsumer<Object, Object> dropped;
    /** Takes the same after a drop that failed. */
    public static volatile BiConsumer<Object, Object> kept;
    /** Takes a new handle of a column family. */
    public static volatile Consumer<Object> handleMade;
    /** Takes an object that is about to be disposed of. */
    public static volatile Consumer<Object> disposing;
    /** Takes a database one of whose methods is called. */
    public static volatile Consumer<Object> seen;

    private Hook() { }

    public static void opened(Object database) {
        tell(opened, database);
    }

    public static void options(Object database, Object opened) {
        tell(options, database, opened);
    }

    public static void readOnly(Object database, boolean really) {
        if (really) {
            tell(readOnly, database);
        }
    }

    public static void closing(Object database) {
        tell(closing, database);
    }

    public static void dropping(Object database, Object handles) {
        tell(dropping, database, handles);
    }

    public static void dropped(Object database, Object handles) {
        tell(dropped, database, handles);
    }

    public static void kept(Object database, Object handles) {
        tell(kept, database, handles);
    }

    public static void handleMade(Object handle) {
        tell(handleMade, handle);
    }

    public static void disposing(Object object) {
        tell(disposing, object);
    }

    public static void seen(Object database) {
        tell(seen, database);
    }

    private static void tell(Consumer<Object> listener, Object subject) {
        if (listener != null) {
            try {
                listener.accept(subject);
            } catch (Throwable mistake) { // of ours
                return;
            }
        }
    }

    private static void tell(BiConsumer<Object, Object> listener, Object subject, Object more) {
        if (listener != null) {
            try {
                listener.accept(subject, more);
            } catch (Throwable mistake) { // of ours
                return;
            }
        }
    }
}
