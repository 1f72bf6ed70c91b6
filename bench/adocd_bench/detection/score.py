"""Replays a recorded run to the watch as one detector sees it, and compares the result with RocksDB's own LOG."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from adocd.diagnosis.stalls import StallWatch
from adocd.diagnosis.stalls.seen import Kind, StallSeen
from adocd.model.snapshot import Snapshot, Stall
from adocd.probes.log.stalls import StallFound
from adocd.probes.statistics import StatisticsProbe
from adocd_bench.detection.record import AgentQuiet, DatabaseEnded, LogRead, Record, RecordEntry, SnapshotTaken

Detector = Literal["agent", "samples", "LOG", "agent and LOG"]
DETECTORS: tuple[Detector, ...] = ("agent", "samples", "LOG", "agent and LOG")
#: Bounds the offset between the clocks of LOG and samples plus the delay of a callback.
_APART_S = 0.05
_UNDISTURBED = Stall("normal", 0.0, 0.0, 0.0)


#: A kind of stall, and whether it is shorter or longer than the time between two samples.
Class = tuple[Kind, Literal["longer", "shorter"]]


@dataclass(slots=True)
class Tally:
    """A detector's score on the true stalls of one class: how many it saw, and how many with the right cause.

    `late_s`: seconds from each stall's start until it was shown. `off_s`: for each reported stall, how many seconds
    after the true start its reported start is.
    """

    true: int = 0
    seen: int = 0
    right: int = 0
    late_s: list[float] = field(default_factory=list)
    off_s: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DetectorOutcome:
    """One detector's score on one run; it reported `told` stalls, of which `false` match no true one of their kind."""

    setting: str
    detector: Detector
    period_s: float
    tallies: dict[Class, Tally]
    told: int
    false: int


def told(record: Record, detector: Detector) -> list[StallSeen]:
    """Replay the record to a watch; return every stall that it saw, as last reported."""
    watch, probe = StallWatch(), StatisticsProbe(record.capabilities)
    for entry in record.entries:
        _tell(watch, probe, entry, record, detector)
    if len(watch.found) == watch.found.maxlen:
        raise ValueError("the run is too long: the watch has forgotten its beginning")
    return list(watch.found)


def _tell(watch: StallWatch, probe: StatisticsProbe, entry: RecordEntry, record: Record, detector: Detector) -> None:
    if isinstance(entry, LogRead):
        if "LOG" in detector:
            watch.logged(entry.events, entry.at_s)
    elif isinstance(entry, DatabaseEnded):
        watch.closed(entry.at_s)
    elif detector == "LOG":
        return
    elif isinstance(entry, AgentQuiet):
        watch.silent(entry.silent_s, entry.at_s, not record.capabilities.responds_during_stall)
    else:
        snapshot = _stripped(entry.snapshot) if detector == "samples" else entry.snapshot
        sample = probe.sample(snapshot)
        if sample is not None:
            watch.sampled(sample, entry.at_s)


def _stripped(snapshot: Snapshot) -> Snapshot:
    """Remove what an agent without stall events and stall counts does not report."""
    families = {name: replace(cf, stall_counts=None) for name, cf in snapshot.column_families.items()}
    return replace(snapshot, stall=_UNDISTURBED, events=(), column_families=families)


def observed(record: Record) -> tuple[float, float]:
    """Return the interval in which the agent could answer, in unix seconds."""
    taken = [entry for entry in record.entries if isinstance(entry, SnapshotTaken)]
    session = taken[-1].snapshot.session
    of_it = [entry.at_s for entry in taken if entry.snapshot.session == session]
    return of_it[0] + record.period_s, of_it[-1]


def score(setting: str, record: Record, detector: Detector, truth: Sequence[StallFound]) -> DetectorOutcome:
    """Compare what a detector saw with the true stalls."""
    begin_s, end_s = observed(record)
    true = [stall for stall in truth if begin_s <= stall.begin_s < end_s - record.period_s]
    found = [seen for seen in told(record, detector) if seen.end_unix_s > begin_s and seen.begin_unix_s < end_s]
    tallies: dict[Class, Tally] = {}
    for stall in true:
        tally = tallies.setdefault(_class(stall, record.period_s), Tally())
        same = [seen for seen in found if _overlaps(seen, stall) and seen.condition == stall.condition]
        right = [seen for seen in same if seen.cause == stall.cause]
        tally.true += 1
        tally.seen += bool(same)
        tally.right += bool(right)
        if right:
            shown = max(right, key=lambda seen: _overlap_s(seen, stall))
            tally.late_s.append(max(0.0, shown.noticed_unix_s - stall.begin_s))
    for seen in found:
        same_kind = [stall for stall in true if _kind(stall) == (seen.cause, seen.condition) and _overlaps(seen, stall)]
        if same_kind:
            nearest = min(same_kind, key=lambda stall: abs(seen.begin_unix_s - stall.begin_s))
            tallies[_class(nearest, record.period_s)].off_s.append(seen.begin_unix_s - nearest.begin_s)
    false = sum(not any(_is(seen, stall, record.period_s) for stall in truth) for seen in found)
    return DetectorOutcome(setting, detector, record.period_s, tallies, len(found), false)


def _kind(stall: StallFound) -> Kind:
    return stall.cause, stall.condition


def _class(stall: StallFound, period_s: float) -> Class:
    return _kind(stall), "longer" if stall.end_s - stall.begin_s >= period_s else "shorter"


def _overlaps(seen: StallSeen, stall: StallFound) -> bool:
    return seen.column_family in (stall.column_family, None) and _overlap_s(seen, stall) >= -_APART_S


def _overlap_s(seen: StallSeen, stall: StallFound) -> float:
    """Return the overlap of both in seconds; if negative, the gap between them."""
    return min(seen.end_unix_s, stall.end_s) - max(seen.begin_unix_s, stall.begin_s)


def _is(seen: StallSeen, stall: StallFound, period_s: float) -> bool:
    """Whether a reported stall matches a true one of its kind; its times may be off by one sampling period."""
    if (seen.cause, seen.condition) != (stall.cause, stall.condition):
        return False
    return seen.begin_unix_s - period_s - _APART_S <= stall.end_s and stall.begin_s <= seen.end_unix_s + period_s


def confirmed(record: Record, truth: Sequence[StallFound]) -> tuple[int, int]:
    """Count the true stalls, and those whose start or end the agent's stall events confirm.

    RocksDB sends no event when only the cause changes, and for memtable stalls only the one at the end.
    """
    begin_s, end_s = observed(record)
    taken = [entry for entry in record.entries if isinstance(entry, SnapshotTaken)]
    apart_s = min(entry.at_s - entry.snapshot.monotonic_s for entry in taken)
    events = [e for entry in taken for e in entry.snapshot.events if e.kind == "stall"]
    begins = [(e.monotonic_s + apart_s, e.condition) for e in events]
    ends = [(e.monotonic_s + apart_s, e.previous) for e in events]
    true = [stall for stall in truth if begin_s <= stall.begin_s and stall.end_s < end_s]
    agreed = [
        stall
        for stall in true
        if any(held == stall.condition and abs(at_s - stall.begin_s) < 2 * _APART_S for at_s, held in begins)
        or any(held == stall.condition and abs(at_s - stall.end_s) < 2 * _APART_S for at_s, held in ends)
    ]
    return len(true), len(agreed)
