"""The lease machine under any sequence of operations: one holder, no restore under a lease, a restore after each."""

from __future__ import annotations

from typing import Any

from adocd_agent.lease_machine import GRACE_S, LeaseMachine, PlanStep, StepCondition, Times
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.conftest import REPOSITORY

HOLDERS = ("alice", "bob", "carol")
FILES = "rocksdb.num-files-at-level0"
#: Whole eighths of a second, which floats hold exactly.
seconds = st.integers(0, 80).map(lambda eighths: eighths / 8)
conditions = st.builds(StepCondition, st.just("default"), st.just(FILES), st.integers(1, 4))
steps = st.builds(PlanStep, st.integers(), st.none() | conditions)


class Refusal(Exception):
    """What this test's owner of a machine refuses with."""


class AnySequence(RuleBasedStateMachine):
    """Operations in any order, and beside the machine what its answers so far allow it to do next."""

    def __init__(self) -> None:
        super().__init__()
        self.now = Times(0.0, 0.0)
        self.events: list[str] = []
        self.machine: LeaseMachine[int] = LeaseMachine(
            lambda kind, _detail: self.events.append(kind), lambda _status, code, _detail, _holder: Refusal(code)
        )
        self.held: tuple[str, int] | None = None
        self.expires = Times(0.0, 0.0)
        self.newest_epoch = 0
        self.plan: list[PlanStep[int]] = []
        """What is to be undone when the lease ends."""
        self.in_flight: PlanStep[int] | None = None
        self.files = 0

    @rule(passed_s=seconds, stood_still=st.booleans())
    def _time_passes(self, passed_s: float, stood_still: bool) -> None:
        running_s = self.now.running_s + (0.0 if stood_still else passed_s)
        self.now = Times(self.now.wall_s + passed_s, running_s)
        if self.now.wall_s >= self.expires.wall_s and self.now.running_s >= self.expires.running_s:
            self.held = None
        self.machine.look(self.now)

    @rule(holder=st.sampled_from(HOLDERS), ttl_s=seconds.filter(bool), back=st.none() | st.integers(-1, 2))
    def _holds(self, holder: str, ttl_s: float, back: int | None) -> None:
        epoch = None if back is None else self.newest_epoch - back
        before = self.held
        try:
            lease = self.machine.hold(holder, ttl_s, epoch, self.now)
        except Refusal:
            assert before is not None or epoch is not None, "a free lease is anybody's who names no epoch"
            assert before is None or before[0] != holder or epoch not in (None, before[1]), "its holder may renew"
            return
        if before is None:
            assert epoch is None
            assert lease.epoch == self.newest_epoch + 1
        else:
            assert (holder, lease.epoch) == before, "somebody else holds it"
        self.held, self.newest_epoch = (holder, lease.epoch), lease.epoch
        self.expires = Times(self.now.wall_s + ttl_s, self.now.running_s + min(ttl_s, GRACE_S))

    @precondition(lambda self: self.held is not None)
    @rule(plan=st.lists(steps, min_size=1, max_size=3))
    def _its_holder_arms(self, plan: list[PlanStep[int]]) -> None:
        assert self.held is not None
        self.machine.arm(*self.held, plan, self.now)
        self.plan = list(plan)

    @rule(holder=st.sampled_from(HOLDERS), back=st.integers(-1, 2), plan=st.lists(steps, max_size=3))
    def _somebody_arms(self, holder: str, back: int, plan: list[PlanStep[int]]) -> None:
        try:
            self.machine.arm(holder, self.newest_epoch - back, plan, self.now)
        except Refusal:
            assert self.held != (holder, self.newest_epoch - back)
            return
        assert self.held == (holder, self.newest_epoch - back)
        self.plan = list(plan)

    @precondition(lambda self: self.held is not None)
    @rule()
    def _its_holder_releases(self) -> None:
        assert self.held is not None
        assert self.machine.release(*self.held, self.now, restore=True, force=False)
        self.held = None

    @rule(holder=st.sampled_from(HOLDERS), back=st.integers(-1, 2), restore=st.booleans(), force=st.booleans())
    def _somebody_releases(self, holder: str, back: int, restore: bool, force: bool) -> None:
        epoch = self.newest_epoch - back
        try:
            ended = self.machine.release(holder, epoch, self.now, restore=restore, force=force)
        except Refusal:
            assert not force
            assert self.held not in (None, (holder, epoch))
            return
        assert ended == (force or self.held is not None)
        assert force or self.held in (None, (holder, epoch)), "only its holder may release it"
        if ended and not restore:
            self.plan = []
        self.held = None

    @rule(files=st.integers(0, 4))
    def _level0_changes(self, files: int) -> None:
        self.files = files

    @precondition(lambda self: self.in_flight is None)
    @rule()
    def _a_step_begins(self) -> None:
        step = self.machine.due(lambda _family, _name: self.files)
        assert step is None or (self.held is None and step is self.plan[0])
        assert step is None or step.when is None or self.files < step.when.below
        self.in_flight = step

    @precondition(lambda self: self.in_flight is not None)
    @rule(error=st.none() | st.just("IO error"))
    def _the_step_ends(self, error: str | None) -> None:
        assert self.in_flight is not None
        self.machine.done(self.in_flight, "step", error)
        assert self.held is None or self.events[-1] == "restore_step", "what a new lease took over did not end"
        if self.plan and self.plan[0] is self.in_flight:
            del self.plan[0]
        self.in_flight = None

    @precondition(lambda self: self.held is None and self.in_flight is None)
    @rule()
    def _the_restore_runs_to_its_end(self) -> None:
        self.files = 0
        while self.machine.is_restoring:
            self._a_step_begins()
            assert self.in_flight is not None, "every condition holds"
            self._the_step_ends(None)
        assert self.plan == []

    @invariant()
    def _one_holder_at_most(self) -> None:
        lease = self.machine.lease(self.now)
        assert (None if lease is None else (lease.holder, lease.epoch)) == self.held
        admitted = []
        for holder in HOLDERS:
            for epoch in range(self.newest_epoch + 2):
                try:
                    self.machine.require(holder, epoch, self.now)
                except Refusal:
                    continue
                admitted.append((holder, epoch))
        assert admitted == ([] if self.held is None else [self.held])

    @invariant()
    def _a_plan_is_executed_when_and_only_when_nobody_holds_the_lease(self) -> None:
        assert self.machine.is_restoring == (self.held is None and bool(self.plan))
        if self.held is not None:
            assert self.machine.due(lambda _family, _name: 0) is None
        assert self.machine.restore().steps_left == len(self.plan)

    @invariant()
    def _every_lease_ends_once_before_the_next(self) -> None:
        began = [kind == "lease_acquired" for kind in self.events if kind.startswith("lease_")]
        assert began == [number % 2 == 0 for number in range(len(began))]
        assert (len(began) % 2 == 1) == (self.held is not None)


AnySequence.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
test_any_sequence = AnySequence.TestCase


def test_an_expiry_restores_though_nobody_asks_again() -> None:
    events: list[tuple[str, str]] = []
    machine: LeaseMachine[str] = LeaseMachine(lambda kind, detail: events.append((kind, detail)), _unexpected)
    machine.hold("alice", 10.0, None, Times(0.0, 0.0))
    machine.arm("alice", 1, [PlanStep("first"), PlanStep("second")], Times(1.0, 1.0))
    assert machine.look(Times(9.9, 9.9)) is False
    assert machine.due(lambda _family, _name: 0) is None
    assert machine.look(Times(10.0, 10.0)) is True
    executed = []
    while (step := machine.due(lambda _family, _name: 0)) is not None:
        executed.append(step.change)
        machine.done(step, step.change, "IO error" if step.change == "first" else None)
    assert executed == ["first", "second"]
    assert machine.restore() == ("done", 0, None, ["first: IO error"])
    assert events == [
        ("lease_acquired", "alice"),
        ("lease_expired", "alice"),
        ("restore_begin", "2 steps"),
        ("restore_step", "first (error: IO error)"),
        ("restore_step", "second"),
        ("restore_end", "1 errors"),
    ]


def _unexpected(_status: int, code: str, _detail: str, _holder: str | None) -> Exception:
    return AssertionError(code)


def test_there_is_one_machine() -> None:
    """The simulator's and the fake fleet's is this agent's own; a copy would drift from it."""
    linked = REPOSITORY / "adocd" / "simulator" / "lease_machine.py"
    assert linked.resolve() == (REPOSITORY / "agents" / "python" / "adocd_agent" / "lease_machine.py").resolve()


def test_what_cannot_be_read_is_not_waited_for() -> None:
    machine: LeaseMachine[Any] = LeaseMachine(lambda _kind, _detail: None, _unexpected)
    machine.hold("alice", 10.0, None, Times(0.0, 0.0))
    waits = PlanStep("step", StepCondition("dropped", FILES, 1))
    machine.arm("alice", 1, [waits], Times(0.0, 0.0))
    machine.look(Times(10.0, 10.0))
    assert machine.due(lambda _family, _name: 1) is None
    assert machine.restore().waiting_for == f"{FILES} of dropped below 1 (it is 1)"
    assert machine.due(lambda _family, _name: None) is waits


def test_what_cannot_be_tried_is_waited_for() -> None:
    machine: LeaseMachine[str] = LeaseMachine(lambda _kind, _detail: None, _unexpected)
    machine.hold("alice", 10.0, None, Times(0.0, 0.0))
    machine.arm("alice", 1, [PlanStep("step")], Times(0.0, 0.0))
    machine.put_off("no descriptors")
    assert machine.restore() == ("armed", 1, None, []), "nothing is due"
    machine.look(Times(10.0, 10.0))
    machine.put_off("no descriptors")
    assert machine.restore() == ("waiting", 1, "no descriptors", [])
    assert machine.due(lambda _family, _name: None) == PlanStep("step")
    assert machine.restore() == ("running", 1, None, [])


def test_a_lease_that_comes_during_the_last_step_has_nothing_left_to_undo() -> None:
    events: list[str] = []
    machine: LeaseMachine[str] = LeaseMachine(lambda kind, _detail: events.append(kind), _unexpected)
    machine.hold("alice", 10.0, None, Times(0.0, 0.0))
    machine.arm("alice", 1, [PlanStep("only")], Times(0.0, 0.0))
    machine.look(Times(10.0, 10.0))
    step = machine.due(lambda _family, _name: None)
    assert step is not None
    machine.hold("bob", 10.0, None, Times(10.0, 10.0))
    assert not machine.is_due(step)
    machine.done(step, "only", None)
    assert machine.restore() == ("none", 0, None, [])
    assert "restore_end" not in events
