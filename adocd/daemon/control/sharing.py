"""Which targets share disks, what each of them needs, and what each may count on."""

import math
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from math import inf
from typing import Self

from adocd.daemon.control.arbiter import ShareClaim, shared
from adocd.model.allowance import Allowance
from adocd.model.policy import Priority
from adocd.model.sample import Sample
from adocd.model.surroundings import Surroundings

#: A need that was measured is allowed to grow by this factor until it is measured again.
_HEADROOM = 1.5
#: What has not written for so long is not there; a loop that sees nothing puts nothing. An agent that cannot answer
#: while writes are stopped is there for longer, because then it is the one that needs the disks.
_OLD_S, _STOPPED_S = 30.0, 300.0
#: Time constants in seconds of what the disks are known to write, where they write less although somebody wants more:
#: while they are busy, and where that is not known and they write so little that another thing may hold that database.
_SLOWER_S, _PERHAPS_SLOWER_S = 60.0, 600.0
#: Disks are nearly idle, and hold nobody, where they are busy for less of the time, and tasks wait for I/O for less.
_IDLE_BUSY, _IDLE_PRESSURE = 0.5, 0.1
#: The same of what each writes: flushes come once in some seconds.
_STEADY_S = 10.0
#: What memtables take counts for one to two times so long, in s: a database that writes little has none after a flush,
#: and whoever gets that memory meanwhile changes its options twice for it.
_LATELY_S = 60.0
#: Bytes that no memtables reach.
_NO_LIMIT = float(1 << 60)
#: A database waits from this share of the time on, by the second, and is said to wait for so long after: others that
#: make way for it change their options, which costs all of them a moment.
_WAITS, _WAITS_S = 0.05, 30.0
#: Threads of all databases that write at once while one of them waits: more only make its own requests wait longer.
_THREADS = 6
#: Whoever wanted more does so for this long. Writes wait for some seconds and flow for some, and whoever makes way for
#: others changes its options, which holds its own writes for up to some tenths of a second: so that is to be rare.
_WANTS_S = 60.0
#: Where it is not known whether disks are busy: they are short from this share of what they are known to write on, if
#: somebody wants more; below, something else is. Once short, they are called so for as long as somebody wants more, but
#: no longer than `_WANTS_S` after they were short.
_SHORT = 0.3
#: The space that a target needs if it does not want more: its level 0 and what it flushes in so long, or this share of
#: its fair share.
_SPACE_S, _SPACE_SHARE = 300.0, 0.2
#: What is allotted stays for so long, in seconds; each loop asks for its own in each of its cycles.
_ALLOTTED_S = 0.9
#: Groups are made anew at most this often, in seconds: a thousand databases open one by one.
_GROUPED_S = 1.0

#: Sums what the memtables of all targets but some take now, in bytes.
MemtablesBeside = Callable[[Iterable[str]], int]


@dataclass(frozen=True, slots=True)
class _Lately:
    """The most of something in the last one to two minutes: what it was in this minute, and in the one before."""

    began_s: float
    this: int
    last: int = 0

    @property
    def most(self) -> int:
        """It rises at once, and falls late."""
        return max(self.this, self.last)

    @classmethod
    def after(cls, before: Self | None, now_s: float, value: int) -> Self:
        """Take in what it is now; None before the first time."""
        passed_s = inf if before is None else now_s - before.began_s
        if before is None or passed_s >= 2 * _LATELY_S:
            return cls(now_s, value)
        if passed_s >= _LATELY_S:
            return cls(now_s, value, before.this)
        return replace(before, this=max(before.this, value))


@dataclass(frozen=True, slots=True)
class DiskNeeds:
    """What one target wrote, and whether it wants more.

    `disks` is empty where they are not known. `is_busy`: whether they are at their limit, or (False) nearly idle; None
    if neither is certain. `bytes_per_s` is what its flushes and compactions wrote, `flushed_bytes_per_s` its flushes
    alone. The WAL does not count: where it is not synced, most of it is deleted before it reaches a disk. `waited_s`:
    when its writes last waited or were delayed. `wanted_s`: when they did, or memtables waited for their flush.
    `memtables_bytes` is the most that its memtables take; once they were put, the most that they took lately.
    """

    disks: frozenset[str]
    bytes_per_s: float
    flushed_bytes_per_s: float
    waited_s: float | None
    wanted_s: float | None
    memtables_bytes: int
    level0_bytes: int
    free_bytes: int | None
    monotonic_s: float
    priority: Priority
    is_busy: bool | None = None

    @property
    def waits(self) -> bool:
        """Whether its writes wait, now or some seconds ago."""
        return self.waited_s is not None and self.monotonic_s - self.waited_s < _WAITS_S

    @property
    def wants_now(self) -> bool:
        """Whether it got less than it wanted in its last window."""
        return self.wanted_s == self.monotonic_s

    @property
    def wants_more(self) -> bool:
        """Whether it gets less than it wants, now or some seconds ago."""
        return self.wanted_s is not None and self.monotonic_s - self.wanted_s < _WANTS_S


def needs_of(sample: Sample, memtables_bytes: int, priority: Priority) -> DiskNeeds:
    """Read them off a sample."""
    around = sample.surroundings
    rates = (sample.flush_written_bytes_per_s, sample.compaction_written_bytes_per_s)
    # Of a window of a tenth of a second, a wait of some milliseconds is a large share.
    waited_s = (sample.waited_fraction or 0.0) * sample.interval_s
    waits = sample.condition != "normal" or waited_s > _WAITS * max(1.0, sample.interval_s)
    wants = waits or any(cf.memtables_wait for cf in sample.column_families)
    return DiskNeeds(
        disks=frozenset() if around is None else around.data_disks,
        bytes_per_s=sum(rate or 0.0 for rate in rates),
        flushed_bytes_per_s=sample.flush_written_bytes_per_s or 0.0,
        waited_s=sample.monotonic_s if waits else None,
        wanted_s=sample.monotonic_s if wants else None,
        memtables_bytes=memtables_bytes,
        level0_bytes=sum(cf.level_bytes[0] for cf in sample.column_families if cf.level_bytes),
        free_bytes=None if around is None else around.free_bytes,
        monotonic_s=sample.monotonic_s,
        priority=priority,
        is_busy=None if around is None else _are_busy(around),
    )


def _are_busy(around: Surroundings) -> bool | None:
    """Say whether the data's disks are at their limit; False if they are nearly idle, None if neither is certain.

    A disk that serves many requests at once can be busy all the time and still not be at its limit, and a cgroup's
    limit holds requests back before they reach the disk: then it looks idle, but tasks wait for I/O.
    """
    if any(around.device_limit(disk.device) for disk in around.data_devices):
        return True
    busy, pressure = max((disk.busy_fraction for disk in around.data_devices), default=None), around.io_pressure
    if busy is None or pressure is None:
        return None
    return False if busy < _IDLE_BUSY and pressure.some_fraction < _IDLE_PRESSURE else None


class Sharing:
    """The needs of all targets. Each loop puts its own and asks for its allowance in each cycle.

    `is_on` False: nobody is allotted anything, and each law decides as if it were alone.
    """

    def __init__(self) -> None:
        self.is_on = True
        self._needs: dict[str, DiskNeeds] = {}
        #: By target, what its memtables took lately.
        self._memtables: dict[str, _Lately] = {}
        #: By target, its group: all that share a disk with it, or with one that does.
        self._groups: dict[str, _Group] = {}
        #: When the groups were made; None before the first time.
        self._grouped_s: float | None = None
        self._is_grouped = True

    def put(self, target_id: str, needs: DiskNeeds) -> None:
        """Store what a target needs, replacing what it needed before; without known disks it shares none.

        Where its disks were not looked at in time, they are still the ones that were known.
        """
        before = self._needs.get(target_id)
        if not needs.disks:
            if before is None:
                return
            needs = replace(needs, disks=before.disks, free_bytes=before.free_bytes)
        if before is not None:
            follows = -math.expm1(-max(0.0, needs.monotonic_s - before.monotonic_s) / _STEADY_S)
            needs = replace(
                needs,
                bytes_per_s=before.bytes_per_s + (needs.bytes_per_s - before.bytes_per_s) * follows,
                flushed_bytes_per_s=before.flushed_bytes_per_s
                + (needs.flushed_bytes_per_s - before.flushed_bytes_per_s) * follows,
                waited_s=before.waited_s if needs.waited_s is None else needs.waited_s,
                wanted_s=before.wanted_s if needs.wanted_s is None else needs.wanted_s,
            )
        lately = _Lately.after(self._memtables.get(target_id), needs.monotonic_s, needs.memtables_bytes)
        self._memtables[target_id] = lately
        self._needs[target_id] = replace(needs, memtables_bytes=lately.most)
        if before is not None and before.wants_more != needs.wants_more and target_id in self._groups:
            self._groups[target_id].allot_anew()
        if before is None or before.disks != needs.disks:
            self._is_grouped = False

    def remove(self, target_id: str) -> None:
        """Forget a target that was closed."""
        self._memtables.pop(target_id, None)
        if self._needs.pop(target_id, None) is not None:
            self._is_grouped = False

    def allowance(self, target_id: str, budget_bytes: int | None, beside: MemtablesBeside) -> Allowance | None:
        """Return what a target may count on; None where it is alone on its disks.

        `budget_bytes` is the budget for the memtables of all targets.
        """
        needs = self._needs.get(target_id)
        if not self.is_on or needs is None:
            return None
        self._group(needs.monotonic_s)
        group = self._groups.get(target_id)
        if group is None or len(group.members) < 2:
            return None
        return group.allowance(target_id, self._needs, budget_bytes, beside)

    def _group(self, now_s: float) -> None:
        if self._is_grouped or (
            self._grouped_s is not None and self._grouped_s <= now_s < self._grouped_s + _GROUPED_S
        ):
            return
        self._is_grouped, self._grouped_s = True, now_s
        before, found = {group.members: group for group in self._groups.values()}, dict[str, _Group]()
        for members in _groups({target: needs.disks for target, needs in self._needs.items()}):
            known = {self._groups[member] for member in members if member in self._groups}
            group = before.get(members) or _Group(members, known)
            found |= dict.fromkeys(members, group)
        self._groups = found


def _groups(disks: Mapping[str, frozenset[str]]) -> Iterable[frozenset[str]]:
    """Join all that share a disk, or share one with somebody who does."""
    joined_to: dict[str, str] = {}

    def first(disk: str) -> str:
        while (other := joined_to.setdefault(disk, disk)) != disk:
            disk = other
        return disk

    for names in disks.values():
        one, *others = sorted(map(first, names))
        joined_to |= dict.fromkeys(others, one)
    groups: dict[str, set[str]] = {}
    for target, names in disks.items():
        groups.setdefault(first(min(names)), set()).add(target)
    return map(frozenset, groups.values())


class _Group:
    """Targets on the same disks, and what those disks were seen to write."""

    def __init__(self, members: frozenset[str], before: Set["_Group"] = frozenset()) -> None:
        """Take over what was known of these members' disks in the groups from before somebody came or went."""
        self.members = members
        #: What the disks are known to write, in bytes/s; None before anything was written.
        self.device: float | None = max((group.device for group in before if group.device is not None), default=None)
        self._at_s: float | None = None
        #: When the disks were short last; minus infinity if they never were.
        self._short_s: float = max((group._short_s for group in before), default=-inf)
        #: By member, when it last waited with less than its share.
        self._starved_s: dict[str, float] = {}
        for group in before:
            self._starved_s |= {one: at_s for one, at_s in group._starved_s.items() if one in members}
        #: What the memtables of others than the members took lately.
        self._others: _Lately | None = None
        self._allotted: dict[str, Allowance] = {}

    def allot_anew(self) -> None:
        """Allot anew as soon as somebody asks."""
        self._allotted = {}

    def allowance(
        self, target_id: str, all_needs: Mapping[str, DiskNeeds], budget_bytes: int | None, beside: MemtablesBeside
    ) -> Allowance:
        """Allot anew where that is due, and return what this target was allotted."""
        now_s = all_needs[target_id].monotonic_s
        if self._at_s is None or not self._at_s <= now_s < self._at_s + _ALLOTTED_S or target_id not in self._allotted:
            members = {member: all_needs[member] for member in self.members if member in all_needs}
            there = {
                one: needs
                for one, needs in members.items()
                if now_s - needs.monotonic_s < (_STOPPED_S if needs.waits else _OLD_S)
            }
            # No more: for an hour in which nothing was shared out, nobody knows what the disks wrote.
            seconds = 0.0 if self._at_s is None else min(_STEADY_S, max(0.0, now_s - self._at_s))
            self._learn(there, now_s, seconds)
            self._at_s = now_s
            memory = None if budget_bytes is None else max(0, budget_bytes - self._taken_outside(there, now_s, beside))
            is_short = now_s - self._short_s < _WANTS_S
            starved = self._starved(there, now_s) if is_short else frozenset()
            self._allotted = allotted(there, self.device, memory, starved, is_short=is_short)
        return self._allotted[target_id]

    def _taken_outside(self, there: Iterable[str], now_s: float, beside: MemtablesBeside) -> int:
        """Return what memtables take of members that are not there, and the most that those of others took lately."""
        others = beside(self.members)
        self._others = _Lately.after(self._others, now_s, others)
        return self._others.most + beside(there) - others

    def _starved(self, members: Mapping[str, DiskNeeds], now_s: float) -> frozenset[str]:
        """Return who waits and had less than its share, now or some seconds ago.

        Compactions of two that both wait take turns: without that time, so would those that are said to starve.
        """
        fair, whole = _fair(members), self.device or 1.0
        for target, needs in members.items():
            if needs.waits and needs.bytes_per_s < whole * max(fair[target], needs.priority.floor):
                self._starved_s[target] = now_s
        return frozenset(
            target
            for target, needs in members.items()
            if needs.waits and now_s - self._starved_s.get(target, -inf) < _WAITS_S
        )

    def _learn(self, members: Mapping[str, DiskNeeds], now_s: float, seconds: float) -> None:
        """Learn what the disks write: it rises to whatever is seen, and falls only while somebody gets too little.

        It also stays where the disks are nearly idle: then what holds that database is its own law, and not the disks.
        """
        fresh = [needs for needs in members.values() if now_s - needs.monotonic_s < _OLD_S]
        writes, seen = sum(needs.bytes_per_s for needs in fresh), {needs.is_busy for needs in fresh}
        is_idle, is_busy = seen == {False}, True in seen
        if writes > (self.device or 0.0):
            self.device = writes
        elif self.device is not None and not is_idle and any(needs.wants_now for needs in fresh):
            constant_s = _SLOWER_S if is_busy or writes > _SHORT * self.device else _PERHAPS_SLOWER_S
            self.device += (writes - self.device) * -math.expm1(-seconds / constant_s)
        if self.device is not None and not is_idle and (is_busy or writes > _SHORT * self.device):
            self._short_s = now_s


def allotted(
    members: Mapping[str, DiskNeeds],
    device: float | None,
    memory_bytes: int | None,
    starved: Set[str],
    *,
    is_short: bool,
) -> dict[str, Allowance]:
    """Allot bandwidth, memory and space among targets that share disks.

    `device` is what the disks are known to write in bytes/s, None if not yet, `memory_bytes` the budget for all
    memtables, None for none, `starved` who waits with less than its share, `is_short` whether the disks are short of
    bandwidth if somebody wants more.

    Whoever wants more gets as much as it can of bandwidth and memory; the others need of the disks what they write now
    and half as much again, and of the memory what their memtables take. Of the space each needs what level 0 holds and
    what it flushes in five minutes, or a fifth of its fair share, and the rest goes to those that want more. Nobody
    counts on less bandwidth than its fair share, which it gets if it wants it. What nobody needs goes to all of them,
    by weight, so that nobody is held to what it happens to need.
    """
    whole = device or 1.0
    fair = _fair(members)
    needed = {one: inf if needs.wants_more else needs.bytes_per_s * _HEADROOM for one, needs in members.items()}
    rates = _by_need(members, needed, whole, left_to=fair)
    memory, space = _memory(members, fair, memory_bytes), _space(members, fair)
    wanting = {target for target, needs in members.items() if needs.wants_more}
    found = {}
    for target, rate in rates.items():
        waiting = 0 if target in starved else len(starved)
        found[target] = Allowance(
            others=len(members) - 1,
            device_share=rate / whole,
            fair_share=fair[target],
            device_bytes_per_s=None if device is None else max(rate, fair[target] * whole),
            memtables_bytes=int(memory[target]),
            space_bytes=None if space is None else int(space[target]),
            is_scarce=is_short and bool(wanting - {target}),
            width=max(1, round(_THREADS * fair[target])) if waiting else None,
            waiting=waiting,
        )
    return found


def _fair(members: Mapping[str, DiskNeeds]) -> dict[str, float]:
    """Return each one's share by weight alone."""
    weights = {target: needs.priority.weight for target, needs in members.items()}
    return {target: weight / sum(weights.values()) for target, weight in weights.items()}


def _memory(members: Mapping[str, DiskNeeds], fair: Mapping[str, float], memory_bytes: int | None) -> dict[str, float]:
    """Share the memory; without a budget each law has its own, and nothing is shared."""
    if memory_bytes is None:
        return dict.fromkeys(members, _NO_LIMIT)
    needed = {one: inf if each.wants_more else float(each.memtables_bytes) for one, each in members.items()}
    return _by_need(members, needed, float(memory_bytes), left_to=fair)


def _space(members: Mapping[str, DiskNeeds], fair: Mapping[str, float]) -> dict[str, float] | None:
    """Share the free space, of the file system that has least of it, and what level 0 of each holds already."""
    free = [each.free_bytes for each in members.values() if each.free_bytes is not None]
    if not free:
        return None
    held = {target: float(each.level0_bytes) for target, each in members.items()}
    whole = min(free) + sum(held.values())
    needed = {
        target: max(held[target] + each.flushed_bytes_per_s * _SPACE_S, _SPACE_SHARE * fair[target] * whole)
        for target, each in members.items()
    }
    # A database that waited once for a moment is no reason to take from another what that one floods.
    takers = {target: fair[target] for target, each in members.items() if each.wants_more}
    return _by_need(members, needed, whole, left_to=takers or fair)


def _by_need(
    members: Mapping[str, DiskNeeds], needed: Mapping[str, float], whole: float, *, left_to: Mapping[str, float]
) -> dict[str, float]:
    """Give each what it needs, by weight where that is too much; what is left goes to some of them, by their parts."""
    claims = {
        target: ShareClaim(needed[target], each.priority.weight, each.priority.floor)
        for target, each in members.items()
    }
    found = shared(claims, whole)
    left, parts = max(0.0, whole - sum(found.values())), sum(left_to.values())
    return {target: value + left * left_to.get(target, 0.0) / parts for target, value in found.items()}
