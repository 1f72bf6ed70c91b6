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

    private static LeaseKeeper keeper(LeaseKeeper.Subject subject, ReentrantLock executing) {
        return new LeaseKeeper(subject, () -> System.nanoTime() / 1e9, executing, (kind, detail) -> { });
    }

    private static void hold(LeaseKeeper keeper) {
        keeper.hold("a", 60, null);
        keeper.arm("a", 1, List.of(new PlanStep(new Change.Family("default", Map.of("write_buffer_size", "1")),
            new PlanStep.Condition("default", "p", 1))));
    }

    private static void awaitRestore(LeaseKeeper keeper) throws InterruptedException {
        for (int waited = 0; waited < 1000 && keeper.hasPlan(); waited++) {
            Thread.sleep(10);
        }
    }

    @Test
    void aRestoreOutlivesAHeapThatIsFullForAMoment() throws InterruptedException, DatabaseClosedException {
        Short subject = new Short();
        LeaseKeeper keeper = keeper(subject, new ReentrantLock());
        hold(keeper);
        keeper.release("a", 1L, true, false);
        awaitRestore(keeper);
        keeper.close();
        assertEquals("done", keeper.restore().get("state"));
        assertEquals(List.of(), keeper.restore().get("errors"));
        assertEquals(SHORTAGES + 1, subject.undone.get());
    }

    /** A session with a property that can be set. */
    private static final class Measured implements LeaseKeeper.Subject {
        final AtomicInteger undone = new AtomicInteger();
        volatile long value;

        @Override
        public Long propertyValue(String columnFamily, String name) {
            return value;
        }

        @Override
        public String undo(Change change) {
            undone.incrementAndGet();
            return null;
        }

        @Override
        public void adoptOriginals() { }
    }

    @Test
    void aConditionIsReadAgainAfterTheWaitForAChange() throws InterruptedException, DatabaseClosedException {
        Measured subject = new Measured();
        ReentrantLock executing = new ReentrantLock();
        LeaseKeeper keeper = keeper(subject, executing);
        hold(keeper);
        executing.lock(); // as a change in flight does
        try {
            keeper.release("a", 1L, true, false);
            while (!executing.hasQueuedThreads()) {
                Thread.onSpinWait();
            }
            subject.value = 1;
        } finally {
            executing.unlock();
        }
        long untilNs = System.nanoTime() + 60_000_000_000L; // the keeper's thread may come to it late
        while (!"waiting".equals(keeper.restore().get("state")) && System.nanoTime() < untilNs) {
            Thread.sleep(5);
        }
        assertEquals("waiting", keeper.restore().get("state"));
        assertEquals(0, subject.undone.get());
        subject.value = 0;
        awaitRestore(keeper);
        keeper.close();
        assertEquals(1, subject.undone.get());
    }

    @Test
    void anInterruptOfAllThreadsDoesNotEndTheKeeper() throws InterruptedException, DatabaseClosedException {
        Measured subject = new Measured();
        subject.value = 1;
        LeaseKeeper keeper = keeper(subject, new ReentrantLock());
        hold(keeper);
        interruptKeepers();
        keeper.release("a", 1L, true, false);
        interruptKeepers();
        subject.value = 0;
        awaitRestore(keeper);
        assertEquals("done", keeper.restore().get("state"));
        keeper.close();
    }

    private static void interruptKeepers() throws InterruptedException {
        Thread.sleep(100); // until it waits
        Thread.getAllStackTraces().keySet().stream()
            .filter(each -> each.getName().equals("adocd-apply")).forEach(Thread::interrupt);
        Thread.sleep(100);
    }
}
