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
}
