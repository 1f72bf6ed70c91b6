package net.adocd.agent.rocksdb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

class RegistryTest {
    private final Registry registry = new Registry(() -> { });

    @Test
    void aDisposalIsLookedUpWithoutMemory() {
        Object object = new Object();
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        registry.opened(new Object()); // so that there is something to compare with
        long leastBytes = Long.MAX_VALUE;
        for (int round = 0; round < 10; round++) { // the first ones load classes
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < 100; i++) {
                registry.disposing(object);
            }
            leastBytes = Math.min(leastBytes, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertTrue(leastBytes < 100, leastBytes + " bytes for 100 disposals");
    }

    @Test
    void aCloseIsFoundByIdentity() {
        Object database = new Object();
        Object other = new Object();
        registry.opened(database);
        registry.opened(other);
        assertEquals(2, registry.open().size());
        registry.disposing(database);
        assertEquals(1, registry.open().size());
        assertSame(other, registry.open().get(0).object.get());
    }

    /** A handle of a column family, as rocksdbjni makes it. */
    private static final class Handle {
        private final Object rocksDB_;
        private final long nativeHandle_;

        Handle(Object database, long nativeHandle) {
            rocksDB_ = database;
            nativeHandle_ = nativeHandle;
        }
    }

    private HostDatabase opened(Object database) {
        registry.opened(database);
        return registry.open().get(0);
    }

    @Test
    void handlesThatTheHostForgetsAreForgottenWithoutAClient() throws InterruptedException {
        Object database = new Object();
        HostDatabase host = opened(database);
        Handle kept = new Handle(database, 1);
        registry.handleMade(kept);
        for (int i = 0; i < 10_000; i++) {
            registry.handleMade(new Handle(database, 2));
        }
        for (int i = 0; i < 1_000 && host.families.size() > 1; i++) {
            System.gc();
            Thread.sleep(10);
            registry.open();
        }
        assertEquals(1, host.families.size());
        assertSame(kept, host.families.values().iterator().next().handle.get());
        registry.disposing(kept);
        assertTrue(host.families.isEmpty());
    }

    @Test
    void aHandleOfTheDefaultColumnFamilyIsNoNews() {
        int[] woken = {0};
        Registry counting = new Registry(() -> woken[0]++);
        Object database = new Object();
        counting.opened(database);
        HostDatabase host = counting.open().get(0);
        host.defaultHandle = 7;
        int before = woken[0];
        counting.handleMade(new Handle(database, 7));
        assertEquals(before, woken[0]);
        assertTrue(host.families.isEmpty());
        counting.handleMade(new Handle(database, 8));
        assertEquals(1, host.families.size());
    }
}
