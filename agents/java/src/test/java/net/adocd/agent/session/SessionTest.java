package net.adocd.agent.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SessionTest {
    private final FakeDatabase database = new FakeDatabase("64");
    private Session session;

    @BeforeEach
    void begin() throws DatabaseClosedException {
        session = new Session(database, "id", "name", () -> System.nanoTime() / 1e9, this::sample);
    }

    private void sample() {
        try {
            session.snapshots.refresh();
        } catch (DatabaseClosedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    @AfterEach
    void end() {
        session.close();
    }

    private static Change set(String family, String value) {
        return new Change.Family(family, Map.of(FakeDatabase.OPTION, value));
    }

    private List<?> change(String family, String value, String original) throws DatabaseClosedException {
        session.hold("a", 60, null);
        List<PlanStep> plan = List.of(
            new PlanStep(set("default", original), null), new PlanStep(set("more", original), null));
        ChangeRequest request = new ChangeRequest("a", 1, List.of(set(family, value)), plan, false, true);
        return (List<?>) session.change(request).get("steps");
    }

    private void restore() throws DatabaseClosedException, InterruptedException {
        session.release("a", 1L, true, false);
        for (int waited = 0; waited < 500 && session.isChanged(); waited++) {
            Thread.sleep(10);
        }
        assertFalse(session.isChanged());
    }

    @Test
    void whatIsNotReadBackIsRestoredAllTheSame() throws DatabaseClosedException, InterruptedException {
        database.writesOptions = false; // and RocksDB says OK
        change("default", "8", "64");
        restore();
        assertEquals(List.of("default=8", "default=64"), database.calls);
    }

    @Test
    void whatIsAsItWasIsNotSetAgain() throws DatabaseClosedException, InterruptedException {
        change("default", "64", "64");
        restore();
        assertEquals(List.of(), database.calls);
    }

    @Test
    void aColumnFamilyThatIsCreatedAgainHasOriginalsOfItsOwn() throws DatabaseClosedException, InterruptedException {
        change("more", "8", "64");
        database.create("more", "32");
        Map<?, ?> originals = (Map<?, ?>) session.originalsJson().get("column_families");
        assertEquals("32", ((Map<?, ?>) originals.get("more")).get(FakeDatabase.OPTION));
        restore();
        assertEquals(List.of("more=8"), database.calls, "the plan was not about this one");
    }

    @Test
    void aRestoreWaitsForWhatIsMissing() throws DatabaseClosedException, InterruptedException {
        change("default", "8", "64");
        database.obstacle = "no room";
        assertEquals("Not executed: no room.", ((Map<?, ?>) change("more", "8", "64").get(0)).get("error"));
        session.release("a", 1L, true, false);
        Thread.sleep(500);
        assertTrue(session.isChanged());
        assertEquals(List.of("default=8"), database.calls);
        database.obstacle = null;
        restore();
    }

    private static Change triggers(String... values) {
        Map<String, String> options = new LinkedHashMap<>();
        for (int i = 0; i < values.length; i += 2) {
            options.put(values[i], values[i + 1]);
        }
        return new Change.Family("default", options);
    }

    private Map<?, ?> change(Change change, Change undo) throws DatabaseClosedException {
        long epoch = (Long) session.hold("a", 60, null).get("epoch");
        List<PlanStep> plan = List.of(new PlanStep(undo, null));
        ChangeRequest request = new ChangeRequest("a", epoch, List.of(change), plan, false, true);
        return (Map<?, ?>) ((List<?>) session.change(request).get("steps")).get(0);
    }

    @Test
    void valuesThatDoNotGoTogetherAreNotSet() throws DatabaseClosedException {
        Change undo = triggers(FakeDatabase.TRIGGER, "4", FakeDatabase.SLOWDOWN, "20");
        assertEquals("Not executed: level0_file_num_compaction_trigger would be 21 and level0_slowdown_writes_trigger"
            + " 20, and the first must not be greater, or RocksDB slows writes down before a compaction is due.",
            change(triggers(FakeDatabase.TRIGGER, "21"), undo).get("error"));
        assertEquals("error", change(triggers(FakeDatabase.SLOWDOWN, "3"), undo).get("outcome"));
        assertEquals(List.of(), database.calls);
        assertEquals("applied",
            change(triggers(FakeDatabase.TRIGGER, "30", FakeDatabase.SLOWDOWN, "30"), undo).get("outcome"));
    }

    @Test
    void aRestoreSetsWhatGoesTogether() throws DatabaseClosedException, InterruptedException {
        change(triggers(FakeDatabase.SLOWDOWN, "40", FakeDatabase.OPTION, "8"),
            triggers(FakeDatabase.SLOWDOWN, "20", FakeDatabase.OPTION, "64"));
        Map<String, String> values = database.file.columnFamilies.get("default");
        values.put(FakeDatabase.TRIGGER, "30"); // the host does
        restore();
        assertEquals(Map.of(FakeDatabase.OPTION, "64", FakeDatabase.SLOWDOWN, "40", FakeDatabase.TRIGGER, "30"), values);
        List<?> errors = (List<?>) ((Map<?, ?>) session.release(null, null, true, true)).get("errors");
        assertTrue(errors.get(0).toString().contains("would be 30 and level0_slowdown_writes_trigger 20"));
        assertEquals("plan_incomplete", assertThrows(Refusal.class,
            () -> change(triggers(FakeDatabase.OPTION, "8"), triggers(FakeDatabase.OPTION, "64"))).body().get("code"));
    }

    @Test
    void aConditionIsThatOfTheColumnFamilyThatWasPlanned() throws DatabaseClosedException, InterruptedException {
        session.hold("a", 60, null);
        PlanStep.Condition when = new PlanStep.Condition("more", "p", 5);
        session.change(new ChangeRequest("a", 1, List.of(set("default", "8")),
            List.of(new PlanStep(set("default", "64"), when)), false, false));
        database.property = 7;
        database.create("more", "32");
        restore();
        assertEquals(List.of("default=8", "default=64"), database.calls, "the planned one is gone, as if it had none");
    }

    private List<PlanStep> lower() throws DatabaseClosedException {
        session.hold("a", 60, null);
        List<PlanStep> plan = List.of(
            new PlanStep(new Change.Limiter(100), null), new PlanStep(set("default", "64"), null));
        session.change(new ChangeRequest("a", 1, List.of(new Change.Limiter(7)), plan, false, true));
        return plan;
    }

    private long look() throws DatabaseClosedException {
        session.look();
        return database.readOptions(true).limiterBytesPerS;
    }

    /** Makes a change that waits until {@code meanwhile} is through. */
    private void stopped(boolean lift, ThrowingRunnable meanwhile) throws Exception {
        ChangeRequest request = new ChangeRequest("a", 1, List.of(set("default", "8")), lower(), false, lift);
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try {
            database.stop = new CountDownLatch(1);
            Future<?> changed = executor.submit(() -> session.change(request));
            try {
                meanwhile.run();
                assertFalse(changed.isDone());
            } finally {
                database.stop.countDown();
            }
            changed.get();
        } finally {
            executor.shutdown();
        }
    }

    @FunctionalInterface
    private interface ThrowingRunnable {
        void run() throws Exception;
    }

    private void untilLiftedTo(long owners) throws DatabaseClosedException, InterruptedException {
        for (int waited = 0; waited < 500 && look() == 7; waited++) {
            Thread.sleep(10);
        }
        assertEquals(owners, look());
    }

    private List<?> lifts() {
        List<?> events = (List<?>) session.snapshot(0L).get("events");
        return events.stream().filter(each -> "rate_limit_lifted".equals(((Map<?, ?>) each).get("kind"))).toList();
    }

    @Test
    void aLimitThatALeaseHasLoweredIsTheOwnersWhileACallWaits() throws Exception {
        stopped(true, () -> untilLiftedTo(100));
        assertEquals(7, look());
        assertEquals(1, lifts().size());
        assertTrue((Double) ((Map<?, ?>) lifts().get(0)).get("elapsed_s") >= 0.5);
    }

    @Test
    void whatItsOwnerSetsMeanwhileIsNotOverwritten() throws Exception {
        stopped(true, () -> {
            untilLiftedTo(100);
            database.turnLimiter(100, 50);
        });
        assertEquals(50, look());
    }

    @Test
    void whatItsOwnerHasSetSinceTheOpenIsTheOwners() throws Exception {
        database.turnLimiter(100, 50);
        stopped(true, () -> untilLiftedTo(50));
        assertEquals(7, look());
    }

    @Test
    void itStaysWhereThatIsNotAskedFor() throws Exception {
        stopped(false, () -> {
            for (int waited = 0; waited < 10; waited++) {
                Thread.sleep(100);
                assertEquals(7, look());
            }
        });
        assertEquals(List.of(), lifts());
    }
}
