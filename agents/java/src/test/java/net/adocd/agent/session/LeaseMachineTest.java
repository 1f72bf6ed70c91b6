package net.adocd.agent.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LeaseMachineTest {
    private final List<String> told = new ArrayList<>();
    private final LeaseMachine machine = new LeaseMachine((kind, detail) -> told.add(kind));

    private static PlanStep step(PlanStep.Condition when) {
        return new PlanStep(new Change.Family("default", Map.of("write_buffer_size", "1")), when);
    }

    private static Object code(Refusal refusal) {
        return refusal.body().get("code");
    }

    @Test
    void aLeaseHasOneHolderAndRisingEpochs() {
        assertEquals(1, machine.hold("a", 10, null, 0).epoch());
        assertEquals("lease_held", code(assertThrows(Refusal.class, () -> machine.hold("b", 10, null, 1))));
        machine.release("a", 1L, true, false, 2);
        assertEquals(2, machine.hold("b", 10, null, 3).epoch());
        assertEquals("lease_lost", code(assertThrows(Refusal.class, () -> machine.hold("a", 10, 1L, 4))));
    }

    @Test
    void onlyTheHoldersRenewalPutsTheEndOff() {
        machine.hold("a", 10, null, 0);
        machine.require("a", 1, 9);
        machine.hold("a", 10, 1L, 9);
        assertEquals(1, machine.lease(18.9).epoch());
        assertNull(machine.lease(19));
        assertEquals(List.of("lease_acquired", "lease_expired"), told);
    }

    @Test
    void thePlanIsExecutedInOrderWhenTheLeaseEnds() throws DatabaseClosedException {
        PlanStep first = step(null);
        PlanStep second = step(new PlanStep.Condition("default", "p", 5));
        machine.hold("a", 10, null, 0);
        machine.arm("a", 1, List.of(first, second), 1);
        assertNull(machine.due((family, name) -> 0L), "while somebody holds the lease");
        assertTrue(machine.look(10));
        assertSame(first, machine.due((family, name) -> 7L));
        machine.done(first, null);
        assertNull(machine.due((family, name) -> 7L));
        assertEquals("waiting", machine.restore().get("state"));
        assertSame(second, machine.due((family, name) -> null), "a column family that was dropped is not waited for");
        machine.done(second, "refused");
        assertEquals("done", machine.restore().get("state"));
        assertEquals(1, ((List<?>) machine.restore().get("errors")).size());
    }

    @Test
    void aNewLeaseInheritsTheRestOfThePlan() throws DatabaseClosedException {
        machine.hold("a", 10, null, 0);
        machine.arm("a", 1, List.of(step(null), step(null)), 1);
        machine.release(null, null, true, true, 2);
        PlanStep first = machine.due((family, name) -> 0L);
        machine.hold("b", 10, null, 3);
        assertFalse(machine.isDue(first));
        machine.done(first, null);
        assertEquals("armed", machine.restore().get("state"));
        assertEquals(1, machine.restore().get("steps_left"));
        assertEquals(1L, machine.revokedEpoch());
    }

    @Test
    void withoutRestoreThePlanIsDropped() throws DatabaseClosedException {
        machine.hold("a", 10, null, 0);
        machine.arm("a", 1, List.of(step(null)), 1);
        machine.release("a", 1L, false, false, 2);
        assertNull(machine.due((family, name) -> 0L));
        assertEquals("none", machine.restore().get("state"));
    }

    @Test
    void whoeverReleasesSaysWho() {
        machine.hold("a", 10, null, 0);
        assertEquals("bad_request",
            code(assertThrows(Refusal.class, () -> machine.release(null, null, true, false, 1))));
        assertEquals("lease_held",
            code(assertThrows(Refusal.class, () -> machine.release("b", 1L, true, false, 1))));
        assertFalse(new LeaseMachine((kind, detail) -> { }).release("a", 1L, true, false, 1));
    }
}
