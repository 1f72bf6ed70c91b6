"""One target's loop: through its sessions, and cycle by cycle: lease, sample, control."""

import asyncio
import logging
from dataclasses import replace
from typing import Literal

from adocd.controllers import registry
from adocd.controllers.base import Controller
from adocd.daemon.book.audit import Audit
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.records import Pause
from adocd.daemon.change import back
from adocd.daemon.change.actuator import Actuator
from adocd.daemon.change.reach import out_of_reach, without_ours
from adocd.daemon.change.safety import Guard
from adocd.daemon.change.unsettled import is_needed
from adocd.daemon.control import pace
from adocd.daemon.control.control import Control
from adocd.daemon.control.decision_log import DecisionLog
from adocd.daemon.control.dispatch import View
from adocd.daemon.control.law import LawFailed
from adocd.daemon.control.log_context import ABOUT, About
from adocd.daemon.control.session import Session
from adocd.daemon.control.settings import LoopSettings
from adocd.daemon.control.silence import Silence, may_be_stalled
from adocd.daemon.watch.history import History
from adocd.daemon.watch.news import News
from adocd.daemon.watch.observation import Observation
from adocd.daemon.watch.samples import Samples
from adocd.model.database import Info
from adocd.model.decision import Decision
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import Snapshot
from adocd.targets.base import Target
from adocd.targets.errors import Closed, OutOfSight, Silent, TargetError, Unreachable

State = Literal["attached", "silent", "closed"]

_log = logging.getLogger(__name__)
#: How long a clean stop waits for a change in flight, and then for the agent's restore, each.
_STOP_PATIENCE_S = 5.0
#: The agent takes a new snapshot when the one it has is older than 50 ms.
_LOOK_AGAIN_S = 0.06
_REVOKED = "an operator revoked the lease and restored the originals; resume or set a policy to go on"


class TargetLoop:
    """Follows one target through its sessions, and applies its policy.

    `tick` does one cycle and returns a sentence that says what it did; `run` repeats it. The attributes are for
    the daemon's surfaces to read.
    """

    def __init__(
        self,
        target_id: str,
        path: str,
        policy: Policy,
        settings: LoopSettings,
        safety: tuple[Guard, ...],
        book: Book,
    ) -> None:
        registry.create(policy)
        self.id = target_id
        self.path = path
        self.policy = policy
        self.state: State = "closed"
        self.sentence = "not sampled yet"
        self.info: Info | None = None
        #: What its cgroup allows the database's process of memory, in bytes; None without a limit.
        self.memory_limit_bytes: int | None = None
        self.session: Session | None = None
        self.snapshot: Snapshot | None = None
        #: How many snapshots there were since the daemon began: whoever reads them one by one sees what is missed.
        self.looks = 0
        #: The last sample; `samples` keeps the ones before without options and events, for those are large.
        self.sample: Sample | None = None
        self.samples = Samples(settings.history)
        #: For charts; it outlives sessions.
        self.history = History()
        self._news = News(target_id, path, settings.events, settings.wall_clock)
        self.decisions = DecisionLog(path, settings.wall_clock, self._decided)
        #: What the daemon measures of its own work on this target.
        self.vitals = self.decisions.vitals
        #: Why the policy is not the chosen one any more, in one sentence; None while it is.
        self.fell_back: str | None = None
        self.closed_since_s = settings.clock()
        #: What can be seen without the agent.
        self.observation = Observation(path, settings.clock, settings.wall_clock, settings.looks, settings.shared)
        self._settings = settings
        self._safety = safety
        self._book = book
        self._audit = Audit(book, settings.events, settings.wall_clock)
        self.control = Control(
            target_id,
            path,
            book,
            self.decisions,
            holder=settings.holder,
            lease_ttl_s=settings.lease_ttl_s,
            clock=settings.clock,
        )
        self._target: Target | None = None
        self._silence = Silence(settings.clock)
        #: When a cycle was last done to its end; a loop that sees nothing, or fails each time, loses its lease.
        self._acted_s = settings.clock()
        self._phase = pace.phase_of(target_id) if settings.spreads else None
        self._attached = asyncio.Event()
        #: A cycle, and what an operator asks for, never overlap.
        self._turn = asyncio.Lock()
        self._stopped = False

    # -- what the fleet and operators ask for

    def attach(self, target: Target, info: Info) -> None:
        """Begin to follow a database that has just been found."""
        self._target, self.info, self.state = target, info, "attached"
        self.session = None
        self._silence.answered()
        self._acted_s = self.vitals.ticked_s = self._settings.clock()
        self._attached.set()

    @property
    def is_only_observed(self) -> bool:
        """Whether it is open and nothing of it can be changed, as of a directory."""
        return self._target is not None and self.info is not None and not self.info.capabilities.can_change

    def out_of_reach(self, controller: Controller) -> str | None:
        """Say why this law cannot work here; None when it can, or while that is not known."""
        if self.session is None or self.sample is None:
            return None
        capabilities = self.session.detail.capabilities
        before_us = without_ours(self.sample, self.session.ledger.baseline, capabilities)
        return out_of_reach(controller, before_us, capabilities)

    async def set_policy(self, policy: Policy) -> None:
        """Take a new policy from the next tick on; raises registry.PolicyError when it makes no sense."""
        async with self._turn:
            self._take_policy(policy)

    def take_settings(self, settings: LoopSettings) -> None:
        """Go on with other times and limits, from the next cycle on; what was measured is kept."""
        self._settings = settings
        self.control.lease_ttl_s = settings.lease_ttl_s
        self.samples = Samples(settings.history, self.samples)
        if self.session is not None:
            self.session.steering.limit_compaction(settings.compaction)

    @property
    def tick_s(self) -> float:
        """How long there is between two snapshots, in seconds, when nothing holds them up."""
        return self._settings.tick_s

    @property
    def paused(self) -> str | None:
        """Why the law decides nothing, in one sentence; None when it may."""
        pause = self._book.pause_of(self.id)
        return None if pause is None else pause.reason

    async def revoke(self) -> back.Restored:
        """Let the agent restore the originals, whoever holds the lease; who calls it has said `restored` in the book.

        Returns how far the restore is, and what is not back. Raises TargetError, also when the database is closed.
        """
        async with self._turn:
            if self._target is None:
                raise Unreachable(f"{self.path} is closed: there is nothing to restore")
            if self.session is not None:
                self.session.revoked()
            return await back.restore(self._target, dict(self._book.left(self.id)))

    async def stop(self) -> None:
        """End cleanly: wait for a change in flight, put back what is ours and see it happen."""
        self._stopped = True
        async with self._turn:
            if self.session is not None:
                await self.session.actuator.settle(_STOP_PATIENCE_S)
            if self._target is not None:
                await self._put_back(self._target)
                await self._let_go(self._target)

    async def run(self) -> None:
        """Tick for as long as the daemon runs; while the database is closed, wait to be attached."""
        ABOUT.set(About(self.id, self.path))
        observing = asyncio.create_task(self._observe(), name=f"observe {self.id}")
        try:
            await self._control()
        finally:
            observing.cancel()

    async def _control(self) -> None:
        due_s = None
        while not self._stopped:
            if not self._attached.is_set():
                await self._attached.wait()
                due_s = None
            began_s, ticks = self._settings.clock(), self._settings.vitals
            if due_s is not None:
                ticks.lateness.observe(max(0.0, began_s - due_s))
            sentence = await self._tick_and_survive()
            _log.debug("%s: %s", self.path, sentence)
            self.sentence = sentence
            self._news.ticked(self.state, sentence)
            self._news.looked(self.observation.watch)
            self.vitals.ticked_s = ended_s = self._settings.clock()
            ticks.duration.observe(ended_s - began_s)
            self.vitals.tick_s = self._settings.tick_s
            due_s = pace.due_after_s(began_s, self.vitals.tick_s, self._phase)
            await asyncio.sleep(max(0.0, due_s - ended_s))

    async def _observe(self) -> None:
        """Look at LOG, device and process, which needs no answer of the agent's, and so goes on without one."""
        while not self._stopped:
            await self._attached.wait()
            began_s = self._settings.clock()
            await self.observation.look()
            if self.info is not None and (owed_s := self._silence.owed_s) is not None:
                self.observation.silent(owed_s, may_be_stalled=may_be_stalled(self.info.capabilities))
            self._news.looked(self.observation.watch)
            due_s = pace.due_after_s(
                began_s, self._settings.tick_s, None if self._phase is None else self._phase + pace.LOOK
            )
            await asyncio.sleep(max(0.0, due_s - self._settings.clock()))

    # -- one cycle

    async def tick(self) -> str:
        """Do one cycle; the sentence says what was seen and done."""
        async with self._turn:
            if self._target is None or self._stopped:
                return "the database is closed"
            self._silence.asked()
            try:
                return await self._cycle(self._target)
            except Silent:
                return self._now_silent()
            except OutOfSight as error:
                _log.warning("%s: %s", self.path, error)
                await self._let_go(self._target)
                self.observation.no_log = str(error)
                return str(error)
            except (Closed, Unreachable):
                _log.info("%s: the database was closed", self.path)
                await self._let_go(self._target)
                return "the database was closed"
            finally:
                self._silence.given_up()

    async def _tick_and_survive(self) -> str:
        """Whatever a law or an agent does wrong harms its own target only, and the loop goes on."""
        try:
            return await self.tick()
        except TargetError as error:
            if self.sentence != str(error):
                _log.warning("%s: %s", self.path, error)
            return str(error)
        except LawFailed as error:
            return self._fall_back(str(error))
        except Exception:
            failed = self.policy.controller
            if failed == registry.DEFAULT:
                _log.exception("%s: the cycle failed", self.path)
                return "the cycle failed, see the daemon's log; a lease that is held expires"
            _log.exception("%s: the cycle failed under %s", self.path, failed)
            return self._fall_back(f"{failed} failed, see the daemon's log")

    def _decided(self, record: DecisionRecord) -> None:
        self._book.decided(self.id, record, path=self.path)
        self._news.decided(record)

    def _fall_back(self, why: str) -> str:
        """Go on without the law, and say so where operators look for what was decided."""
        _log.error("%s: %s; the policy falls back to %s", self.path, why, registry.DEFAULT)
        decision = Decision((), why, "daemon.fall_back", f"a law that fails is not asked again: {registry.DEFAULT} is")
        monotonic_s = 0.0 if self.sample is None else self.sample.monotonic_s
        self.decisions.add(self.policy.controller, decision, monotonic_s, (), "failed")
        self._take_policy(Policy(registry.DEFAULT))
        self.fell_back = why
        return f"{why}; the policy is now {registry.DEFAULT}"

    def _take_policy(self, policy: Policy) -> None:
        if self.session is not None:
            self.session.take_policy(policy)
        else:
            registry.create(policy)
        self.policy, self.fell_back = policy, None

    async def _cycle(self, target: Target) -> str:
        asked_s = self._settings.clock()
        if self.session is not None and asked_s - self._acted_s <= self._settings.lease_ttl_s:
            await self.session.renew_lease(self._settings.holder, self._settings.lease_ttl_s, asked_s)
        sent_s = self._settings.clock()
        snapshot = await target.snapshot(None if self.session is None else self.session.last_event)
        self.vitals.answer.observe(self._settings.clock() - sent_s)
        self.state = "attached"
        self._silence.answered()
        session = await self._session_of(target, snapshot)
        session.observe(snapshot)
        self.snapshot = snapshot
        self.looks += 1
        if session.notice_revoked(snapshot):
            self._book.pause(Pause(self.id, self.path, "restored", _REVOKED, "agent", self._settings.wall_clock()))
            self._audit.note("restore", "agent", _REVOKED, target=self.id, path=self.path)
            _log.warning("%s: %s", self.path, _REVOKED)
        elif session.notice_lapsed(snapshot):
            _log.warning("%s: the lease was not renewed in time, so the agent has ended it and restores", self.path)
        sample = session.probe.sample(snapshot)
        if sample is None:
            return self._measuring(session)
        if (surroundings := self.observation.surroundings) is not None:
            sample = replace(sample, surroundings=surroundings)
        self.observation.sampled(sample)
        self.sample = sample
        self.vitals.sampled(sample, asked_s)
        self.samples.add(sample)
        self.observation.chart(sample, self.history)
        sentence = await self.control.act(session, View(sample, snapshot, asked_s))
        self._acted_s = self._settings.clock()
        return sentence

    def _measuring(self, session: Session) -> str:
        """Say that nothing new could be measured; nobody renews a lease for ever without acting under it."""
        blind_s = self._settings.clock() - self._acted_s
        if blind_s <= self._settings.lease_ttl_s:
            return "measuring"
        lease = "no lease is held" if session.lease is None else "the lease is left to expire"
        return f"no new measurement for {blind_s:.0f} s: {lease}"

    # -- sessions and leases

    async def _session_of(self, target: Target, snapshot: Snapshot) -> Session:
        """Keep the session, or begin one; column families that came or went bring new originals."""
        session = self.session
        if session is not None and session.knows(snapshot):
            return session
        detail = await target.detail()
        if session is not None and session.detail.session == detail.session:
            self._forget_families(session, snapshot)
            session.take_detail(detail, snapshot)
        else:
            if session is not None:
                await session.actuator.abandon()
            actuator = Actuator(self._settings.clock)
            repeats = self.info is not None and is_needed(self.info.rocksdb_version, self.info.protocol)
            session = Session(
                target,
                detail,
                snapshot,
                self.policy,
                actuator,
                self._safety,
                self._settings.compaction,
                repeats=repeats,
                step_limit_s=self._settings.step_limit_s,
            )
            session.law.measure(snapshot)  # its window begins here
            if self.info is not None:
                self.observation.opened(self.info, detail)
        self.session = session
        return session

    def _forget_families(self, session: Session, snapshot: Snapshot) -> None:
        """Forget what was tuned of column families that are gone, though others may have their names now or later."""
        anew = session.created_anew(snapshot)
        for name in sorted(anew):
            _log.info("%s: column family %s was dropped and created anew; its options are its own", self.path, name)
        there = (snapshot.column_families.keys() - anew) | set(session.detail.unseen_column_families)
        left = self._book.left(self.id)
        self._book.forget(self.id, [o for o in left if o.scope == "column_family" and o.name not in there])

    async def _put_back(self, target: Target) -> None:
        """Go on for a while without a law, until nothing of ours is left: not from an earlier open either."""
        self.control.ends = True
        deadline_s = self._settings.clock() + _STOP_PATIENCE_S
        while self._settings.clock() < deadline_s:
            try:
                await self._cycle(target)
            except TargetError as error:
                _log.warning("%s: what is ours may still be there, the lease expires: %s", self.path, error)
                return
            except Exception:
                _log.exception("%s: what is ours may still be there, the lease expires", self.path)
                return
            if self._is_put_back():
                return
            await asyncio.sleep(_LOOK_AGAIN_S)
        _log.warning("%s: the agent is still restoring", self.path)

    def _is_put_back(self) -> bool:
        session, sample, snapshot = self.session, self.sample, self.snapshot
        if session is None or sample is None or snapshot is None or session.lease is not None:
            return False
        if sample.session != session.detail.session:
            return False  # it was opened anew, and not measured since
        ends = snapshot.restore.state in ("none", "done") and not snapshot.change_in_flight
        return ends and not self.control.is_left_over(session, snapshot, sample)

    def _now_silent(self) -> str:
        self.state = "silent"
        self._acted_s = self._settings.clock()  # renewals wait in its socket meanwhile, and it serves them first
        stall = ", possibly stalled" if self.info is not None and may_be_stalled(self.info.capabilities) else ""
        return f"the agent has been silent for {self._silence.found():.0f} s{stall}"

    async def _let_go(self, target: Target) -> None:
        await target.close()
        if self.session is not None:
            await self.session.actuator.abandon()
        self._target, self.session, self.state = None, None, "closed"
        self.snapshot, self.sample = None, None
        self.observation.closed()
        self.samples.clear()
        self.closed_since_s = self._settings.clock()
        self._attached.clear()
