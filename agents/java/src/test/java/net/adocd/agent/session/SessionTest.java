package net.adocd.agent.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SessionTest {
    private final FakeDatabase database = new FakeDatabase("64");
    private Session session;

    @BeforeEach
    void begin() throws DatabaseClosedException {
        session = new Session(database, "id", "name", () -> System.nanoTime() / 1e9, () -> { });
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
        ChangeRequest request = new ChangeRequest("a", 1, List.of(set(family, value)), plan, false);
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
        assertEquals(Map.of(FakeDatabase.OPTION, "32"), originals.get("more"));
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
}
