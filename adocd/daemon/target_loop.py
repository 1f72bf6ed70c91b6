"""One target's loop: sample, law, guards, actuator, lease."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from adocd.controllers import registry
from adocd.controllers.base import Controller
from adocd.daemon import guards, planner
from adocd.daemon.actuator import Actuator
from adocd.daemon.decision_log import DecisionLog, settings_in_words
from adocd.daemon.reach import out_of_reach
from adocd.daemon.records import DecisionRecord
from adocd.daemon.session import Session
from adocd.model.decision import Decision
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import OptionValues, Restore, Snapshot
from adocd.targets.base import Info, Target
from adocd.targets.errors import Closed, Silent, TargetError, Unreachable

State = Literal["attached", "silent", "closed"]

_log = logging.getLogger(__name__)
#: How long a clean stop waits for a change in flight, and then for the agent's restore, each.
_STOP_PATIENCE_S = 5.0

_BRAKE_RELEASE = Decision(
    settings=(),
    signal="the write delay is over",
    rule="actuator.delayed_write_rate",
    reason="a change made during the delay carried the rate then in force",
)


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What all loops of a daemon share. `clock` is monotonic seconds, `wall_clock` seconds since the epoch."""

    holder: str
    tick_s: float
    lease_ttl_s: float
    #: How many samples are kept.
    history: int
    clock: Callable[[], float]
    wall_clock: Callable[[], float]


class TargetLoop:
    """Follows one target through its sessions, and applies its policy.

    `tick` does one cycle and returns a sentence that says what it did; `run` repeats it. The attributes are for
    the daemon's surfaces to read.
    """

    def __init__(
        self, target_id: str, path: str, policy: Policy, settings: LoopSettings, safety: tuple[guards.Guard, ...]
    ) -> None:
        registry.create(policy)
        self.id = target_id
        self.path = path
        self.policy = policy
        self.state: State = "closed"
        self.sentence = "not sampled yet"
        #: Why nothing is changed until a policy is set; None when it may be.
        self.paused: str | None = None
        self.info: Info | None = None
        #: What its cgroup allows the database's process of memory, in bytes; None without a limit.
        self.memory_limit_bytes: int | None = None
        self.session: Session | None = None
        self.snapshot: Snapshot | None = None
        #: The last sample; `samples` keeps the ones before without options and events, for those are large.
        self.sample: Sample | None = None
        self.samples: deque[Sample] = deque(maxlen=settings.history)
        self.decisions = DecisionLog(path, settings.wall_clock)
        self.closed_since_s = settings.clock()
        self._settings = settings
        self._safety = safety
        self._target: Target | None = None
        self._silent_since_s: float | None = None
        self._attached = asyncio.Event()
        #: A cycle, and what an operator asks for, never overlap.
        self._turn = asyncio.Lock()
        self._stopped = False

    # -- what the fleet and operators ask for

    def attach(self, target: Target, info: Info) -> None:
        """Begin to follow a database that has just been found."""
        self._target, self.info, self.state = target, info, "attached"
        self.session, self._silent_since_s = None, None
        self._attached.set()

    def out_of_reach(self, controller: Controller) -> str | None:
        """Say why this law cannot work here; None when it can, or while that is not known."""
        if self.session is None or self.sample is None:
            return None
        return out_of_reach(controller, self.sample, self.session.detail.capabilities)

    async def set_policy(self, policy: Policy) -> None:
        """Take a new policy from the next tick on; raises registry.PolicyError when it makes no sense."""
        async with self._turn:
            self._take_policy(policy)

    async def restore(self, why: str) -> Restore:
        """Let the agent restore the originals, whoever holds the lease, and change nothing until a policy is set.

        Returns how far the restore is. Raises TargetError, also when the database is closed.
        """
        self.paused = why
        async with self._turn:
            if self._target is None:
                raise Unreachable(f"{self.path} is closed: there is nothing to restore")
            if self.session is not None:
                self.session.lease = None
            return await self._target.revoke_lease()

    async def stop(self) -> None:
        """End cleanly: wait for a change in flight, restore the originals and see it happen."""
        self._stopped = True
        async with self._turn:
            if self.session is not None:
                await self.session.actuator.settle(_STOP_PATIENCE_S)
                if await self._release_quietly(self.session) is not None:
                    await self._see_restored(self.session.target)
            if self._target is not None:
                await self._let_go(self._target)

    async def run(self) -> None:
        """Tick for as long as the daemon runs; while the database is closed, wait to be attached."""
        while not self._stopped:
            await self._attached.wait()
            began_s = self._settings.clock()
            sentence = await self._tick_and_survive()
            _log.debug("%s: %s", self.path, sentence)
            self.sentence = sentence
            await asyncio.sleep(max(0.0, began_s + self._settings.tick_s - self._settings.clock()))

    # -- one cycle

    async def tick(self) -> str:
        """Do one cycle; the sentence says what was seen and done."""
        async with self._turn:
            if self._target is None or self._stopped:
                return "the database is closed"
            try:
                return await self._cycle(self._target)
            except Silent:
                return self._now_silent()
            except (Closed, Unreachable):
                _log.info("%s: the database was closed", self.path)
                await self._let_go(self._target)
                return "the database was closed"

    async def _tick_and_survive(self) -> str:
        """Whatever a law or an agent does wrong harms its own target only, and the loop goes on."""
        try:
            return await self.tick()
        except TargetError as error:
            if self.sentence != str(error):
                _log.warning("%s: %s", self.path, error)
            return str(error)
        except Exception:
            failed = self.policy.controller
            _log.exception("%s: %s failed; the policy falls back to %s", self.path, failed, registry.DEFAULT)
            self._take_policy(Policy(registry.DEFAULT))
            return f"{failed} failed, see the daemon's log; the policy is now {registry.DEFAULT}"

    def _take_policy(self, policy: Policy) -> None:
        if self.session is not None:
            self.session.take_policy(policy)
        else:
            registry.create(policy)
        self.policy, self.paused = policy, None

    async def _cycle(self, target: Target) -> str:
        if self.session is not None:
            await self.session.renew_lease(self._settings.holder, self._settings.lease_ttl_s)
        snapshot = await target.snapshot(None if self.session is None else self.session.last_event)
        self.state, self._silent_since_s = "attached", None
        session = await self._session_of(target, snapshot)
        session.last_event = snapshot.last_event
        self.snapshot = snapshot
        if session.notice_revoked(snapshot):
            self.paused = "an operator revoked the lease and restored the originals; set a policy to go on"
            _log.warning("%s: %s", self.path, self.paused)
        sample = session.probe.sample(snapshot)
        if sample is None:
            return "measuring"
        self.sample = sample
        self.samples.append(replace(sample, options=OptionValues(), events=()))
        if self.paused is not None:
            return f"paused: {self.paused}"
        return await self._control(session, sample, snapshot)

    async def _control(self, session: Session, sample: Sample, snapshot: Snapshot) -> str:
        controller = session.controller
        unreachable = out_of_reach(controller, sample, session.detail.capabilities)
        if not controller.knobs or self.policy.dry_run or unreachable is not None:
            await self._release_quietly(session)
            if unreachable is not None:
                return f"{controller.name} cannot work here: {unreachable}"
        else:
            settings = self._settings
            refused = await session.hold_lease(settings.holder, settings.lease_ttl_s, snapshot)
            if refused is not None:
                return refused
        if (in_flight_s := session.actuator.in_flight_s) is not None:
            return f"a change has been in flight for {in_flight_s:.1f} s"
        if self._release_brake(session, sample):
            return f"{_BRAKE_RELEASE.rule}: {_BRAKE_RELEASE.signal}"
        window = session.window(snapshot)
        decision = None if window is None else controller.step(window)
        if decision is not None:
            return self._carry_out(session, decision, sample)
        return f"{controller.name}: {_seen(sample)}"

    def _carry_out(self, session: Session, decision: Decision, sample: Sample) -> str:
        verdict = guards.check(self._safety, decision.settings, sample)
        if session.lease is None:
            self._record(session, replace(decision, settings=verdict.settings), sample, verdict.notes, "dry-run")
            return f"dry run: {decision.rule} would set {settings_in_words(verdict.settings)}: {decision.signal}"
        if not verdict.settings:
            self._record(session, decision, sample, verdict.notes, "refused")
            return f"{decision.rule}: {'; '.join(verdict.notes)}"
        decision = replace(decision, settings=verdict.settings)
        plan = planner.plan(decision.settings, sample, session.originals, session.touched)
        if not plan.changes:
            self._record(session, decision, sample, verdict.notes, "unchanged")
            return f"{decision.rule}: the values are there already"
        self._send(session, plan, self._record(session, decision, sample, verdict.notes, "in-flight"))
        return f"{decision.rule}: setting {settings_in_words(decision.settings)}: {decision.signal}"

    def _release_brake(self, session: Session, sample: Sample) -> bool:
        plan = planner.release_brake(sample, session.originals, session.touched)
        if session.lease is None or not plan.changes:
            return False
        self._send(session, plan, self._record(session, _BRAKE_RELEASE, sample, (), "in-flight"))
        return True

    def _send(self, session: Session, plan: planner.Plan, record: DecisionRecord) -> None:
        if session.lease is None:
            raise RuntimeError("nothing is sent without a lease")  # a mistake of the loop's
        session.touched = plan.touched
        session.actuator.start(
            session.target, session.lease, plan, lambda result: self.decisions.finish(record, result)
        )

    def _record(
        self,
        session: Session,
        decision: Decision,
        sample: Sample,
        notes: tuple[str, ...],
        outcome: Literal["in-flight", "unchanged", "refused", "dry-run"],
    ) -> DecisionRecord:
        return self.decisions.add(session.controller.name, decision, sample.monotonic_s, notes, outcome)

    # -- sessions and leases

    async def _session_of(self, target: Target, snapshot: Snapshot) -> Session:
        """Keep the session, or begin one; column families that came or went bring new originals."""
        session = self.session
        if session is not None and session.knows(snapshot):
            return session
        detail = await target.detail()
        if session is not None and session.detail.session == detail.session:
            session.detail = detail
        else:
            if session is not None:
                await session.actuator.abandon()
            session = Session(target, detail, self.policy, Actuator(self._settings.clock))
            session.window(snapshot)  # it begins here
        self.session = session
        return session

    async def _release_quietly(self, session: Session) -> Restore | None:
        try:
            return await session.release_lease()
        except TargetError as error:
            _log.warning("%s: the lease could not be given back, so it will expire: %s", self.path, error)
            return None

    async def _see_restored(self, target: Target) -> None:
        deadline_s = self._settings.clock() + _STOP_PATIENCE_S
        while self._settings.clock() < deadline_s:
            try:
                restore = (await target.snapshot(None)).restore
            except TargetError:
                return
            if restore.state in ("none", "done"):
                return
            await asyncio.sleep(0.05)
        _log.warning("%s: the agent is still restoring", self.path)

    def _now_silent(self) -> str:
        now_s = self._settings.clock()
        if self._silent_since_s is None:
            self._silent_since_s = now_s
        self.state = "silent"
        stall = "" if self.info is None or self.info.capabilities.responds_during_stall else ", possibly stalled"
        return f"the agent has been silent for {now_s - self._silent_since_s:.0f} s{stall}"

    async def _let_go(self, target: Target) -> None:
        await target.close()
        if self.session is not None:
            await self.session.actuator.abandon()
        self._target, self.session, self.state = None, None, "closed"
        self.snapshot, self.sample = None, None
        self.samples.clear()
        self.closed_since_s = self._settings.clock()
        self._attached.clear()


def _seen(sample: Sample) -> str:
    overflow = " and ".join(f"{o} overflow" for o in sample.overflow) or "no overflow"
    rate = "" if sample.writes_per_s is None else f"{sample.writes_per_s:,.0f} writes/s, "
    return f"{rate}writes {sample.condition}, {overflow}"
