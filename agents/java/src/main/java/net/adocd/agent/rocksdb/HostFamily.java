package net.adocd.agent.rocksdb;

import java.lang.ref.WeakReference;

/** A column family's handle that the host made, as the hooks saw it. */
final class HostFamily {
    /** Weak: what the host forgets is collected as it would be without the agent. */
    final WeakReference<Object> handle;
    /** Closed when the host disposes of the handle, or drops the column family. */
    final Gate gate = new Gate();
    /** RocksDB's name of the column family; null until the sampling thread has read it. */
    volatile String name;
    /** RocksDB's id of the column family, -1 until it was read. */
    volatile int id = -1;

    HostFamily(Object handle) {
        this.handle = new WeakReference<>(handle);
    }
}
