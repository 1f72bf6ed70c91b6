"""One target's loop, open or closed: when its cycles are due, and what happens when one fails."""

import asyncio
import logging
from typing import Any

from adocd.controllers import registry
from adocd.controllers.base import Controller
from adocd.daemon.book.book import Book
from adocd.daemon.change import back
from adocd.daemon.change.guards.guard import Note
from adocd.daemon.control import pace
from adocd.daemon.control.attached import Attached
from adocd.daemon.control.law import LawFailed
from adocd.daemon.control.log_context import ABOUT, LoggedTarget
from adocd.daemon.control.loop_settings import LoopSettings
from adocd.daemon.control.silence import may_be_stalled
from adocd.daemon.control.status import State, Status
from adocd.daemon.watch.news import News
from adocd.daemon.watch.observation import Observation
from adocd.daemon.watch.remembered import Remembered
from adocd.diagnosis.held import HeldWriters
from adocd.diagnosis.lint.gather import with_recent_events
from adocd.model.database import Info
from adocd.model.decision import Decision
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.snapshot import Snapshot
from adocd.model.values import Values
from adocd.targets.base import Target
from adocd.targets.errors import Closed, OutOfSight, Silent, TargetError, Unreachable

_log = logging.getLogger(__name__)
#: Readers of the recent events share what is at most as old as this.
_RECENT_S = 1.0


class TargetLoop:
    """Follows one target through its sessions, and applies its policy.

    `tick` runs one cycle and returns a sentence on what it did; `run` repeats it. Others read `status`, an immutable
    value, and `remembered`.
    """

    def __init__(self, target_id: str, path: str, policy: Policy, settings: LoopSettings, book: Book) -> None:
        registry.create(policy)
        self.id = target_id
        self.path = path
        self.remembered = Remembered(path, settings.history, settings.wall_clock, self._decided)
        self.closed_since_s = settings.clock()
        self._policy = policy
        self._sentence = "not sampled yet"
        self._fell_back: str | None = None
        self._info: Info | None = None
        self._news = News(target_id, path, settings.events, settings.wall_clock)
        #: What can be observed without the agent.
        self._observation = Observation(path, settings.clock, settings.wall_clock, settings.looks, settings.shared)
        self._settings = settings
        self._book = book
        self._attached: Attached | None = None
        #: Number of snapshots of earlier opens.
        self._looks_before = 0
        self._phase = pace.phase_of(target_id) if settings.spreads else None
        self._is_attached = asyncio.Event()
        #: Keeps cycles and operators' requests from overlapping.
        self._turn = asyncio.Lock()
        #: The last snapshot with recent events, and when it was read; the lock keeps readers from asking side by side.
        self._recent: tuple[Snapshot, float] | None = None
        self._recent_turn = asyncio.Lock()
        self._stopped = False

    # -- what others read

    @property
    def state(self) -> State:
        """Whether the database is open, and its agent answers."""
        if self._attached is None:
            return "closed"
        return "silent" if self._attached.is_silent else "attached"

    @property
    def status(self) -> Status:
        """The target's status now."""
        attached = self._attached
        session = None if attached is None else attached.session
        pause = self._book.pauses.of(self.id)
        decisions = self.remembered.decisions
        return Status(
            id=self.id,
            path=self.path,
            state=self.state,
            sentence=self._sentence,
            looks=self._looks_before + (0 if attached is None else attached.looks),
            tick_s=self._settings.tick_s,
            policy=self._policy,
            paused=None if pause is None else pause.reason,
            fell_back=self._fell_back,
            stall=self._observation.watch.now,
            around=self._observation.in_words,
            memory_limit_bytes=None if attached is None else attached.process.limit_bytes,
            info=self._info,
            detail=None if session is None else session.detail,
            originals=None if session is None else session.ledger.originals,
            snapshot=None if attached is None else attached.snapshot,
            sample=None if attached is None else attached.sample,
            decisions=decisions.count,
            last_decision=decisions.last,
        )

    def out_of_reach(self, controller: Controller) -> str | None:
        """Return why this law cannot work here; None when it can, or while that is not known."""
        return None if self._attached is None else self._attached.out_of_reach(controller)

    def refusal_of(self, wanted: Values) -> Note | None:
        """Return which safety guard would refuse a pin to these values now; None if none would, or not known yet."""
        return None if self._attached is None else self._attached.refusal_of(wanted)

    async def diagnosis(self) -> dict[str, Any]:
        """Return what stalled and why, as `adocctl explain` shows it."""
        return await self._observation.diagnosis()

    def logged_before(self, unix_s: float, span_s: float) -> HeldWriters | None:
        """Return how writers fared in the `span_s` seconds before this time, by the LOG; None if no LOG covers it."""
        return self._observation.logged_before(unix_s, span_s)

    async def with_recent_events(self) -> Snapshot | None:
        """Return a snapshot, at most a second old, with the last events that the agent holds; None while it is closed.

        If the agent does not answer, it is the loop's own last one. The lease's renewal waits behind each request to
        the agent, so many readers cause one request a second.
        """
        async with self._recent_turn:
            attached = self._attached
            if attached is None or attached.snapshot is None:
                return None
            now_s = self._settings.clock()
            if self._recent is not None:
                recent, read_s = self._recent
                is_newest = recent.session == attached.snapshot.session and (
                    recent.monotonic_s >= attached.snapshot.monotonic_s
                )
                if is_newest and now_s - read_s < _RECENT_S:
                    return recent
            recent = await with_recent_events(attached.target, attached.snapshot)
            self._recent = recent, self._settings.clock()
            return recent

    # -- requests from the fleet and operators

    def attach(self, target: Target, info: Info) -> None:
        """Start following a database that has just been found open."""
        self._info = info
        self._attached = Attached(
            self.id,
            self.path,
            target,
            info,
            self._policy,
            self._book,
            self._settings,
            self._observation,
            self.remembered,
        )
        self.remembered.vitals.ticked_s = self._settings.clock()
        self._is_attached.set()

    def found_closed(self, sentence: str) -> None:
        """Note that the database was looked for and is not open; `sentence` says so."""
        self._sentence = sentence

    async def set_policy(self, policy: Policy) -> None:
        """Apply a new policy from the next tick on; raises registry.PolicyError when it is invalid."""
        async with self._turn:
            self._take_policy(policy)

    def take_settings(self, settings: LoopSettings) -> None:
        """Apply new intervals and limits from the next cycle on; measurements are kept."""
        self._settings = settings
        self.remembered.keep_samples(settings.history)
        if self._attached is not None:
            self._attached.take_settings(settings)

    async def revoke(self) -> back.RestoreResult:
        """Make the agent restore the originals, whoever holds the lease. The caller has entered `restored` in the book.

        Returns the restore's progress and the options not restored. Raises TargetError, also if the database is closed.
        """
        async with self._turn:
            if self._attached is None:
                raise Unreachable(f"{self.path} is closed: there is nothing to restore")
            return await self._attached.revoke()

    async def stop(self) -> None:
        """Stop cleanly: wait for the change in flight, undo our changes and see that they are undone."""
        self._stopped = True
        async with self._turn:
            if self._attached is not None:
                await self._attached.put_back()
                await self._let_go(self._attached)

    async def run(self) -> None:
        """Run cycles until the daemon stops; while the database is closed, wait to be attached."""
        ABOUT.set(LoggedTarget(self.id, self.path))
        observing = asyncio.create_task(self._observe(), name=f"observe {self.id}")
        try:
            await self._control()
        finally:
            observing.cancel()

    # -- when cycles are due

    async def _control(self) -> None:
        due_s, is_woken = None, False
        while not self._stopped:
            if not self._is_attached.is_set():
                await self._is_attached.wait()
                due_s, is_woken = None, False
            # A reload during the cycle must not put off the next renewal of a lease that has the old time.
            began_s, ticks, tick_s = self._settings.clock(), self._settings.vitals, self._settings.tick_s
            if due_s is not None and not is_woken:
                ticks.lateness.observe(max(0.0, began_s - due_s))
            sentence = await self._tick_and_survive()
            _log.debug("%s: %s", self.path, sentence)
            self._sentence = sentence
            self._news.ticked(self.state, sentence)
            self._news.looked(self._observation.watch)
            vitals = self.remembered.vitals
            vitals.ticked_s = ended_s = self._settings.clock()
            ticks.duration.observe(ended_s - began_s)
            vitals.tick_s = tick_s
            if is_woken and due_s is not None:
                due_s = pace.due_after_woken_s(began_s, due_s, tick_s)
            else:
                due_s = pace.due_after_s(began_s, tick_s, self._phase)
            is_woken = await self._rest(began_s + pace.apart_s(tick_s), due_s)

    async def _rest(self, earliest_s: float, due_s: float) -> bool:
        """Wait until the next cycle is due; return whether events call for one before that, from `earliest_s` on."""
        clock, attached = self._settings.clock, self._attached
        if attached is not None and earliest_s < due_s and await attached.is_woken(due_s):
            await asyncio.sleep(max(0.0, earliest_s - clock()))
            return True
        await asyncio.sleep(max(0.0, due_s - clock()))
        return False

    async def _observe(self) -> None:
        """Observe LOG, device and process. This needs no agent, so it goes on while the agent is silent."""
        phase = None if self._phase is None else self._phase + pace.LOOK
        while not self._stopped:
            await self._is_attached.wait()
            began_s = self._settings.clock()
            await self._observation.look()
            attached = self._attached
            if attached is not None and (owed_s := attached.silence.owed_s) is not None:
                may_be = may_be_stalled(attached.info.capabilities)
                self._observation.silent(owed_s, may_be_stalled=may_be)
            self._news.looked(self._observation.watch)
            due_s = pace.due_after_s(began_s, self._settings.tick_s, phase)
            await asyncio.sleep(max(0.0, due_s - self._settings.clock()))

    # -- one cycle, and what happens when it fails

    async def tick(self) -> str:
        """Run one cycle and return a sentence on what it saw and did."""
        async with self._turn:
            attached = self._attached
            if attached is None or self._stopped:
                return "the database is closed"
            attached.silence.asked()
            try:
                return await attached.look_and_act()
            except Silent:
                return attached.now_silent()
            except OutOfSight as error:
                _log.warning("%s: %s", self.path, error)
                await self._let_go(attached)
                self._observation.no_log = str(error)
                return str(error)
            except (Closed, Unreachable):
                _log.info("%s: the database was closed", self.path)
                await self._let_go(attached)
                return "the database was closed"
            finally:
                attached.silence.given_up()

    async def _tick_and_survive(self) -> str:
        """Run one cycle; any error of a law or an agent stays within its own target, and the loop goes on."""
        try:
            return await self.tick()
        except TargetError as error:
            if self._sentence != str(error):
                _log.warning("%s: %s", self.path, error)
            return str(error)
        except LawFailed as error:
            return self._fall_back(str(error))
        except Exception:
            failed = self._policy.controller
            if failed == registry.WATCHING:
                _log.exception("%s: the cycle failed", self.path)
                return "the cycle failed, see the daemon's log; a lease that is held expires"
            _log.exception("%s: the cycle failed under %s", self.path, failed)
            return self._fall_back(f"{failed} failed, see the daemon's log")

    def _fall_back(self, why: str) -> str:
        """Replace the policy by the default, and record that in the decision log, where operators look."""
        _log.error("%s: %s; the policy falls back to %s", self.path, why, registry.WATCHING)
        decision = Decision((), why, "daemon.fall_back", f"a law that fails is not asked again: {registry.WATCHING} is")
        sample = None if self._attached is None else self._attached.sample
        monotonic_s = 0.0 if sample is None else sample.monotonic_s
        self.remembered.decisions.add(self._policy.controller, decision, monotonic_s, (), "failed")
        # Pins act under the default, too, unless this is a dry run.
        self._take_policy(Policy(registry.WATCHING, dry_run=self._policy.dry_run))
        self._fell_back = why
        return f"{why}; the policy is now {registry.WATCHING}"

    def _take_policy(self, policy: Policy) -> None:
        registry.create(policy)
        if self._attached is not None:
            self._attached.take_policy(policy)
        self._policy, self._fell_back = policy, None

    def _decided(self, record: DecisionRecord) -> None:
        self._book.decided(self.id, record, path=self.path)
        self._news.decided(record)

    async def _let_go(self, attached: Attached) -> None:
        await attached.let_go()
        self._attached = None
        self._looks_before += attached.looks
        self._observation.closed()
        self.remembered.samples.clear()
        self.closed_since_s = self._settings.clock()
        self._is_attached.clear()
