"""One open target: its sessions, one after the other, and the cycles of each."""

import asyncio
import logging
from dataclasses import replace

from adocd.controllers.base import Controller
from adocd.daemon.book.audit import Audit
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.records import Pause
from adocd.daemon.change import back
from adocd.daemon.change.guards.guard import Note
from adocd.daemon.change.guards.shared import is_shared
from adocd.daemon.change.reach import out_of_reach, without_ours
from adocd.daemon.control.cycle import Cycle, CycleView
from adocd.daemon.control.loop_settings import LoopSettings
from adocd.daemon.control.mandate import pins_of
from adocd.daemon.control.neighbours import HostProcess, Share
from adocd.daemon.control.session import Session
from adocd.daemon.control.sharing import needs_of
from adocd.daemon.control.silence import Silence, may_be_stalled
from adocd.daemon.watch.observation import Observation
from adocd.daemon.watch.remembered import Remembered
from adocd.model.allowance import Allowance
from adocd.model.database import DatabaseDetail, Info
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import Snapshot
from adocd.model.values import Values
from adocd.targets.base import Target
from adocd.targets.errors import TargetError

_log = logging.getLogger(__name__)
#: A clean stop waits this long for the change in flight, and then this long again for the agent's restore.
_STOP_PATIENCE_S = 5.0
#: The agent reuses a snapshot for 50 ms, so asking sooner shows nothing new.
_LOOK_AGAIN_S = 0.06
#: An agent that waits for events is asked to answer this much before the next cycle is due.
_ANSWERS_WITHIN_S = 0.005
_REVOKED = "an operator revoked the lease and restored the originals; resume or set a policy to go on"


class Attached:
    """A database reached through `target`. TargetLoop ensures that its cycles never overlap."""

    def __init__(
        self,
        target_id: str,
        path: str,
        target: Target,
        info: Info,
        policy: Policy,
        book: Book,
        settings: LoopSettings,
        observation: Observation,
        remembered: Remembered,
    ) -> None:
        self.target = target
        self.info = info
        self.process = HostProcess.of(info)
        self.session: Session | None = None
        self.snapshot: Snapshot | None = None
        self.sample: Sample | None = None
        #: Number of snapshots so far.
        self.looks = 0
        self.silence = Silence(settings.clock)
        self.is_silent = False
        self.cycle = Cycle(target_id, path, book, remembered.decisions, settings)
        self._id = target_id
        self._path = path
        self._policy = policy
        self._book = book
        self._settings = settings
        self._observation = observation
        self._remembered = remembered
        self._audit = Audit(book, settings.events, settings.wall_clock)
        #: When a cycle last completed. A loop that sees nothing, or always fails, stops renewing and loses its lease.
        self._acted_s = settings.clock()
        if any(is_shared(option) for option in book.left(target_id)):
            # Until our first sample tells: a neighbour's first cycle may come before ours.
            settings.neighbours.put(target_id, Share(path, self.process, memtables_bytes=0, turns_shared=True))

    # -- requests from operators and the fleet

    def take_policy(self, policy: Policy) -> None:
        """Switch to another policy; raises registry.PolicyError when it is invalid."""
        if self.session is not None:
            wanted = dict(self.session.steering.wanted)
            self.session.take_policy(policy)
            # Where values go back, what was measured under them says nothing of the time before the new law's changes.
            if self.session.steering.wanted == wanted:
                self.session.law.judge.remember(self._remembered.samples)
        self._policy = policy

    def take_settings(self, settings: LoopSettings) -> None:
        """Apply new intervals and limits."""
        self._settings = self.cycle.settings = settings
        if self.session is not None:
            self.session.take_limits(settings.compaction)

    def out_of_reach(self, controller: Controller) -> str | None:
        """Return why this law cannot work here; None when it can, or while that is not known."""
        if self.session is None or self.sample is None:
            return None
        capabilities = self.session.detail.capabilities
        before_us = without_ours(self.sample, self.session.ledger.baseline, capabilities)
        return out_of_reach(controller, before_us, capabilities)

    def refusal_of(self, wanted: Values) -> Note | None:
        """Return which safety guard would refuse a pin to these values now; None if none would, or not known yet."""
        session, sample = self.session, self.sample
        if session is None or sample is None:
            return None
        pins = pins_of(session, sample, (pinned.override for pinned in self._book.overrides_of(self._id)))
        beside = self._settings.neighbours.beside(self._id, self.process, session.steering.written.families)
        return session.steering.refusal_of(wanted, pins, sample, beside)

    async def revoke(self) -> back.RestoreResult:
        """Make the agent restore the originals, whoever holds the lease. The caller has entered `restored` in the book.

        Returns the restore's progress and the options not restored. Raises TargetError.
        """
        if self.session is not None:
            self.session.revoked()
        return await back.restore(self.target, dict(self._book.left(self._id)))

    async def put_back(self) -> None:
        """Wait for the change in flight, then run cycles without a law until all of our changes are undone."""
        if self.session is not None:
            await self.session.flight.settle(_STOP_PATIENCE_S)
        self.cycle.ends = True
        deadline_s = self._settings.clock() + _STOP_PATIENCE_S
        while self._settings.clock() < deadline_s:
            try:
                await self.look_and_act()
            except TargetError as error:
                _log.warning("%s: what is ours may still be there, the lease expires: %s", self._path, error)
                return
            except Exception:
                _log.exception("%s: what is ours may still be there, the lease expires", self._path)
                return
            if self._is_put_back():
                return
            await asyncio.sleep(_LOOK_AGAIN_S)
        _log.warning("%s: the agent is still restoring", self._path)

    async def let_go(self) -> None:
        """Close the connection. The agent still finishes a change in flight."""
        await self.target.close()
        if self.session is not None:
            await self.session.flight.abandon()
        self._settings.neighbours.remove(self._id)

    # -- between two cycles

    async def is_woken(self, until_s: float) -> bool:
        """Wait for an event at which the law wants to be asked, until `until_s` by the clock; return whether it came.

        Returns at once if the law, or the agent, waits for none. While a change is in flight the law cannot act, so the
        end of the change is awaited, too.
        """
        session, clock = self.session, self._settings.clock
        if session is None or session.last_event is None or self._book.pauses.of(self._id) is not None:
            return False
        if not session.law.wakes:
            return False
        try:
            came = await self.target.wait(session.last_event, session.law.wakes, until_s - _ANSWERS_WITHIN_S - clock())
        except TargetError as error:
            _log.debug("%s: cannot wait for events, the next cycle comes when it is due: %s", self._path, error)
            return False
        if came:
            await session.flight.settle(until_s - clock())
        return came and clock() < until_s

    # -- one cycle

    async def look_and_act(self) -> str:
        """Run one cycle and return a sentence on what it saw and did. Raises TargetError and LawFailed."""
        settings, vitals = self._settings, self._remembered.vitals
        asked_s = settings.clock()
        if self.session is not None and asked_s - self._acted_s <= settings.lease_ttl_s:
            await self.session.renew_lease(settings.holder, settings.lease_ttl_s, asked_s)
        sent_s = settings.clock()
        snapshot = await self.target.snapshot(None if self.session is None else self.session.last_event)
        vitals.answer.observe(settings.clock() - sent_s)
        self.silence.answered()
        self.is_silent = False
        session = await self._session_of(snapshot)
        session.observe(snapshot)
        self.snapshot = snapshot
        self.looks += 1
        self._notice_lost_lease(session, snapshot)
        self._notice_limiter(snapshot)
        sample = session.measure(snapshot)
        if sample is None:
            return self._measuring(session)
        if (surroundings := self._observation.surroundings) is not None:
            sample = replace(sample, surroundings=surroundings)
            self.process = self.process.limited_by(surroundings.group)
        if (allowance := self._allowance(session, sample)) is not None:
            sample = replace(sample, allowance=allowance)
        self._remember(sample, asked_s)
        sentence = await self.cycle.run(session, self.process, CycleView(sample, snapshot, sent_s))
        self._acted_s = settings.clock()
        return sentence

    def now_silent(self) -> str:
        """Record that the agent's answer is overdue, and return a sentence that says for how long."""
        self.is_silent = True
        self._acted_s = self._settings.clock()  # renewals queue in its socket; it serves them first
        stall = ", possibly stalled" if may_be_stalled(self.info.capabilities) else ""
        return f"the agent has been silent for {self.silence.found():.0f} s{stall}"

    def _allowance(self, session: Session, sample: Sample) -> Allowance | None:
        """Tell the arbiter what this target needs, and ask it what the target may count on."""
        needs = needs_of(sample, session.memtables_bytes(sample), self._settings.priority_of(self._path))
        return self._settings.neighbours.allowance(self._id, needs)

    def _remember(self, sample: Sample, asked_s: float) -> None:
        self.sample = sample
        self._observation.sampled(sample)
        self._remembered.vitals.sampled(sample, asked_s)
        self._remembered.samples.add(sample)
        self._observation.chart(sample, self._remembered.history, self._acts())

    def _acts(self) -> str | None:
        """Return the law in force, also while it is paused and its values stay; None in a dry run, too."""
        if self.session is None:
            return None
        policy, pause = self.session.law.policy, self._book.pauses.of(self._id)
        return policy.controller if policy.acts and (pause is None or pause.state != "restored") else None

    def _notice_lost_lease(self, session: Session, snapshot: Snapshot) -> None:
        if session.notice_revoked(snapshot):
            now_s = self._settings.wall_clock()
            self._book.pauses.enter(Pause(self._id, self._path, "restored", _REVOKED, "agent", now_s))
            self._audit.note("restore", "agent", _REVOKED, target=self._id, path=self._path)
            _log.warning("%s: %s", self._path, _REVOKED)
        elif session.notice_lapsed(snapshot):
            _log.warning("%s: the lease was not renewed in time, so the agent has ended it and restores", self._path)

    def _notice_limiter(self, snapshot: Snapshot) -> None:
        for event in snapshot.events:
            if event.kind == "limiter_woken":
                _log.warning(
                    "%s: RocksDB's rate limiter granted nothing for %.0f s while %d requests waited, so the agent woke "
                    "it; RocksDB 8.5.3 has the fix (facebook/rocksdb#11742)",
                    self._path,
                    event.elapsed_s or 0.0,
                    event.waiting or 0,
                )
            elif event.kind == "rate_limit_lifted":
                _log.info(
                    "%s: a change has waited for %.1f s, so the rate limit is its owner's until RocksDB answers",
                    self._path,
                    event.elapsed_s or 0.0,
                )

    def _measuring(self, session: Session) -> str:
        """Return the sentence for a cycle without a new sample. After one TTL of those the lease is not renewed."""
        blind_s = self._settings.clock() - self._acted_s
        if blind_s <= self._settings.lease_ttl_s:
            return "measuring"
        lease = "no lease is held" if session.held.current is None else "the lease is left to expire"
        return f"no new measurement for {blind_s:.0f} s: {lease}"

    async def _session_of(self, snapshot: Snapshot) -> Session:
        """Return this snapshot's session, a new one after a reopen; new column families bring new originals."""
        session = self.session
        if session is not None and session.knows(snapshot):
            return session
        detail = await self.target.detail()
        if session is not None and session.detail.session == detail.session:
            self._forget_families(session, detail, snapshot)
            if detail.data_paths != session.detail.data_paths:
                self._observation.opened(self.info, detail)
            session.take_detail(detail, snapshot, self._book.left(self._id))
        else:
            if session is not None:
                await session.flight.abandon()
            session = Session(self.target, self.info, detail, snapshot, self._policy, self._settings)
            self._observation.opened(self.info, detail)
        self.session = session
        return session

    def _forget_families(self, session: Session, detail: DatabaseDetail, snapshot: Snapshot) -> None:
        """Forget changes to dropped column families, because a new one may have, or later take, the same name.

        Not where nothing can be changed: files from outside may not tell of all column families.

        One whose handle the program has closed is not dropped: the agent no longer sees it, but its options are as we
        set them.
        """
        if not detail.capabilities.can_change:
            return
        anew = session.created_anew(snapshot)
        for name in sorted(anew):
            _log.info("%s: column family %s was dropped and created anew; its options are its own", self._path, name)
        seen = snapshot.column_families.keys() | set(detail.column_families)
        there = (seen - anew) | set(detail.unseen_column_families)
        left = self._book.left(self._id)
        self._book.forget(self._id, [o for o in left if o.scope == "column_family" and o.name not in there])

    def _is_put_back(self) -> bool:
        session, sample, snapshot = self.session, self.sample, self.snapshot
        if session is None or sample is None or snapshot is None or session.held.current is not None:
            return False
        if sample.session != session.detail.session:
            return False  # the database was reopened and not sampled since
        ends = snapshot.restore.state in ("none", "done") and not snapshot.change_in_flight
        return ends and not self.cycle.is_left_over(session, snapshot, sample)
