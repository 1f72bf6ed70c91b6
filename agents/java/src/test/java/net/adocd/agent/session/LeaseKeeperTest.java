package net.adocd.agent.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;

class LeaseKeeperTest {
    /** More than a step may fail for another reason. */
    private static final int SHORTAGES = 7;

    /** A session whose calls lack memory for the first times. */
    private static final class Short implements LeaseKeeper.Subject {
        final AtomicInteger reads = new AtomicInteger();
        final AtomicInteger undone = new AtomicInteger();

        @Override
        public Long propertyValue(String columnFamily, String name) {
            if (reads.incrementAndGet() <= SHORTAGES) {
                throw new OutOfMemoryError("of the test");
            }
            return 0L;
        }

        @Override
        public String undo(Change change) {
            if (undone.incrementAndGet() <= SHORTAGES) {
                throw new OutOfMemoryError("of the test");
            }
            return null;
        }

        @Override
        public void adoptOriginals() { }
    }

    @Test
    void aRestoreOutlivesAHeapThatIsFullForAMoment() throws InterruptedException, DatabaseClosedException {
        Short subject = new Short();
        LeaseKeeper keeper = new LeaseKeeper(
            subject, () -> System.nanoTime() / 1e9, new ReentrantLock(), (kind, detail) -> { });
        keeper.hold("a", 60, null);
        keeper.arm("a", 1, List.of(new PlanStep(new Change.Family("default", Map.of("write_buffer_size", "1")),
            new PlanStep.Condition("default", "p", 1))));
        keeper.release("a", 1L, true, false);
        for (int waited = 0; waited < 1000 && keeper.hasPlan(); waited++) {
            Thread.sleep(10);
        }
        keeper.close();
        assertEquals("done", keeper.restore().get("state"));
        assertEquals(List.of(), keeper.restore().get("errors"));
        assertEquals(SHORTAGES + 1, subject.undone.get());
    }
}
