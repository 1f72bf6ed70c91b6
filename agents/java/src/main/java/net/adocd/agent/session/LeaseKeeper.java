package net.adocd.agent.session;

import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.DoubleSupplier;
import net.adocd.agent.AgentThread;

/**
 * Gives one session's lease machine a clock, a lock, and a thread that executes what is due; the thread starts with the
 * first lease. {@code executing} admits one change at a time and is taken before the keeper's own lock.
 */
final class LeaseKeeper {
    /** The part of its session that the keeper needs. */
    interface Subject {
        /** Returns a column family's property, null where it cannot be read. */
        Long propertyValue(String columnFamily, String name) throws DatabaseClosedException;

        /** Executes the change of a restore step; returns RocksDB's words if it fails, else null. */
        String undo(Change change) throws DatabaseClosedException, NotNowException;

        /** Makes the current values the originals; nothing else is executed meanwhile. */
        void adoptOriginals() throws DatabaseClosedException;
    }

    /** Interval of checks for expiry and conditions (s); the contract requires one a second. */
    private static final double LOOK_S = 0.2;
    private static final long LOOK_MS = 200;
    /** Most attempts for a restore step that cannot even be tried. */
    private static final int TRIES = 5;

    private final Subject subject;
    private final DoubleSupplier clock;
    private final ReentrantLock executing;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition news = lock.newCondition();
    private final LeaseMachine machine;
    private boolean closed;
    private boolean adoptionDue;
    private int failedTries;
    private Thread thread;

    LeaseKeeper(Subject subject, DoubleSupplier clock, ReentrantLock executing, BiConsumer<String, String> tell) {
        this.subject = subject;
        this.clock = clock;
        this.executing = executing;
        this.machine = new LeaseMachine(tell);
    }

    /** Ends the session: a plan that was not executed is void. */
    void close() {
        locked(() -> {
            closed = true;
            news.signalAll();
            return null;
        });
    }

    /** PUT lease: acquires, or renews. */
    Map<String, Object> hold(String holder, double ttlS, Long epoch) {
        return locked(() -> {
            refuseWhenClosed();
            start();
            Map<String, Object> held = machine.hold(holder, ttlS, epoch, look()).asJson();
            news.signalAll();
            return held;
        });
    }

    /** Refuses unless this is the current lease. */
    void require(String holder, long epoch) {
        locked(() -> {
            refuseWhenClosed();
            machine.require(holder, epoch, look());
            return null;
        });
    }

    /** Tells whether this is (still) the current lease. */
    boolean holds(String holder, long epoch) {
        try {
            require(holder, epoch);
            return true;
        } catch (Refusal lost) {
            return false;
        }
    }

    /** Replaces the restore plan; refuses unless this is still the current lease. */
    void arm(String holder, long epoch, List<PlanStep> plan) {
        locked(() -> {
            refuseWhenClosed();
            machine.arm(holder, epoch, plan, look());
            return null;
        });
    }

    /** DELETE lease. */
    Map<String, Object> release(String holder, Long epoch, boolean restore, boolean force)
            throws DatabaseClosedException {
        locked(() -> {
            boolean ended = machine.release(holder, epoch, restore, force, look());
            adoptionDue |= ended && !restore;
            news.signalAll();
            return null;
        });
        if (!restore) { // let a change in flight end first: its values stay too
            executing.lock();
            try {
                adoptIfDue();
            } finally {
                executing.unlock();
            }
        }
        return restore();
    }

    /** Makes the values left by a release without restore the originals; the caller holds {@code executing}. */
    void adoptIfDue() throws DatabaseClosedException {
        boolean due = locked(() -> {
            boolean was = adoptionDue;
            adoptionDue = false;
            return was;
        });
        if (due) {
            subject.adoptOriginals();
        }
    }

    /** Returns the lease as JSON, or null. */
    Map<String, Object> lease() {
        return locked(() -> {
            LeaseMachine.Lease held = machine.lease(look());
            return held == null ? null : held.asJson();
        });
    }

    /** Returns the epoch of the newest lease at the last DELETE with force; null where there was none. */
    Long revokedEpoch() {
        return locked(machine::revokedEpoch);
    }

    /** Tells how far the restore is, as JSON. */
    Map<String, Object> restore() {
        return locked(machine::restore);
    }

    /** Tells whether there is a plan that is not executed yet. */
    boolean hasPlan() {
        return locked(machine::hasPlan);
    }

    private <T> T locked(java.util.function.Supplier<T> work) {
        lock.lock();
        try {
            return work.get();
        } finally {
            lock.unlock();
        }
    }

    private void refuseWhenClosed() {
        if (closed) {
            throw Refusal.databaseClosed();
        }
    }

    /** Reads the clock, and ends an expired lease; the thread then starts to restore. */
    private double look() {
        double nowS = clock.getAsDouble();
        if (machine.look(nowS)) {
            news.signalAll();
        }
        return nowS;
    }

    private void start() {
        if (thread != null) {
            return;
        }
        try {
            thread = AgentThread.start("adocd-apply", this::run);
        } catch (OutOfMemoryError noThread) { // what Java throws where the process may have no more threads
            throw new Refusal(503, "unavailable",
                "The process cannot start the thread that would keep the lease; try again.");
        }
    }

    /** Whatever is thrown, the thread goes on: there is no other one that would restore. */
    private void run() {
        while (true) {
            try {
                PlanStep step = nextStep();
                if (step == null) {
                    return;
                }
                if (!tryStep(step)) {
                    AgentThread.pause(LOOK_MS);
                }
            } catch (Throwable passing) { // NOPMD: the database is about to close, or the heap is full for a moment
                AgentThread.pause(LOOK_MS);
            }
        }
    }

    /** Waits for a step that is due; null when the session is over. */
    private PlanStep nextStep() {
        return locked(() -> {
            while (!closed) {
                double nowS = look();
                PlanStep step = dueStep();
                if (step != null) {
                    return step;
                }
                nap(machine.isRestoring() ? LOOK_S : Math.max(0.001, Math.min(LOOK_S, machine.leftS(nowS))));
            }
            return null;
        });
    }

    private void nap(double forS) {
        try {
            if (!machine.isRestoring() && Double.isInfinite(machine.leftS(0))) {
                news.await(); // there is nothing to keep
            } else {
                news.awaitNanos((long) (forS * 1e9));
            }
        } catch (InterruptedException notOurs) { // we end it by close(): see AgentThread.pause
            return;
        }
    }

    /**
     * Executes a step; false if it must be tried again. A step that keeps failing to run counts as failed, but not for
     * lack of memory, which passes: the changed values would stay.
     */
    private boolean tryStep(PlanStep step) throws DatabaseClosedException {
        try {
            if (!restoreStep(step)) {
                return false;
            }
        } catch (OutOfMemoryError passing) {
            return false;
        } catch (RuntimeException | Error error) {
            failedTries++;
            if (failedTries < TRIES) {
                return false;
            }
            book(step, error.toString());
        }
        failedTries = 0;
        return true;
    }

    /** Returns the due step, once its condition could be read or reading it has failed often enough. */
    private PlanStep dueStep() {
        try {
            return machine.due(subject::propertyValue);
        } catch (DatabaseClosedException | OutOfMemoryError passing) {
            return null;
        } catch (RuntimeException | Error error) {
            failedTries++;
            try {
                return failedTries < TRIES ? null : machine.due((family, name) -> null);
            } catch (DatabaseClosedException ending) {
                return null;
            }
        }
    }

    /**
     * Executes a step if it is still due; false if it is not, or has to wait. The wait for {@code executing} can be
     * long: meanwhile there may be a new lease or plan, and what the step's condition is about may have changed.
     */
    private boolean restoreStep(PlanStep step) throws DatabaseClosedException {
        executing.lock();
        try {
            if (locked(this::dueStep) != step) {
                return false;
            }
            book(step, subject.undo(step.change()));
            return true;
        } catch (NotNowException waiting) {
            locked(() -> {
                machine.waits(step, waiting.getMessage());
                return null;
            });
            return false;
        } finally {
            executing.unlock();
        }
    }

    private void book(PlanStep step, String error) {
        locked(() -> {
            machine.done(step, error);
            return null;
        });
    }
}
