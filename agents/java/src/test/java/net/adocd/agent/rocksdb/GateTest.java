package net.adocd.agent.rocksdb;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class GateTest {
    @Test
    void closingWaitsForACallUnderWayAndLetsNoneIn() throws InterruptedException {
        Gate gate = new Gate();
        assertTrue(gate.enter());
        CountDownLatch closed = new CountDownLatch(1);
        Thread closer = new Thread(() -> {
            gate.close();
            closed.countDown();
        });
        closer.start();
        while (!gate.isClosed()) {
            Thread.onSpinWait();
        }
        assertFalse(closed.await(50, TimeUnit.MILLISECONDS));
        assertFalse(gate.enter());
        gate.leave();
        closer.join();
        assertFalse(gate.enter());
    }

    @Test
    void noCallIsInsideWhenACloseReturns() throws InterruptedException {
        for (int round = 0; round < 200; round++) {
            Gate gate = new Gate();
            AtomicInteger inside = new AtomicInteger();
            Thread[] callers = new Thread[4];
            for (int i = 0; i < callers.length; i++) {
                callers[i] = new Thread(() -> {
                    while (gate.enter()) {
                        inside.incrementAndGet();
                        inside.decrementAndGet();
                        gate.leave();
                    }
                });
                callers[i].start();
            }
            gate.close();
            int found = inside.get();
            for (Thread caller : callers) {
                caller.join();
            }
            assertTrue(found == 0, "a call was inside after the close");
        }
    }

    @Test
    void anInterruptDoesNotLetTheHostGoOn() throws InterruptedException {
        Gate gate = new Gate();
        assertTrue(gate.enter());
        AtomicInteger interrupts = new AtomicInteger();
        Thread closer = new Thread(() -> {
            gate.close();
            interrupts.addAndGet(Thread.interrupted() ? 1 : 0);
        });
        closer.start();
        closer.interrupt();
        closer.join(50);
        assertTrue(closer.isAlive());
        gate.leave();
        closer.join();
        assertTrue(interrupts.get() == 1, "the host sees its interrupt");
    }

    @Test
    void theEndOfTheProcessWaitsOnlyAMomentHoweverManyAreBusy() {
        List<Gate> gates = Stream.generate(Gate::new).limit(20).toList();
        gates.forEach(Gate::enter); // and nobody leaves
        long beganNs = System.nanoTime();
        Gate.closeAll(gates, 1_000);
        assertTrue(System.nanoTime() - beganNs < 10_000_000_000L, "one wait for all");
        gates.forEach(each -> assertFalse(each.enter()));
    }
}
