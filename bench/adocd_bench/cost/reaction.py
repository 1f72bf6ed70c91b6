"""Measures reaction time: from a stall's start in RocksDB's LOG until a change is sent and applied."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.probes.log.stalls import StallFound
from adocd_bench.cost.measured import ReactedTo, Reactions
from adocd_bench.host.cap import capped
from adocd_bench.host.device import parse_profile
from adocd_bench.host.noise import cpu_times, others_share
from adocd_bench.programs.db_bench import find_db_bench
from adocd_bench.programs.fill import Fill
from adocd_bench.run.interrupt import interruptible
from adocd_bench.run.observe import AgentProgram, ObservedRun, observe
from adocd_bench.run.workspace import choose_parent, run_directory, workspace

_MIB = 1 << 20
#: Memtables that fill in a fraction of a second, and a tree to match: stalls of all causes come within seconds.
SMALL = {
    "write_buffer_size": 4 * _MIB,
    "target_file_size_base": 4 * _MIB,
    "max_bytes_for_level_base": 16 * _MIB,
    "level0_slowdown_writes_trigger": 8,
    "level0_stop_writes_trigger": 12,
}
#: The law with small steps: its default step of 64 MiB would end at once the stalls that are to be timed.
_PARAMETERS = {"batch_min_bytes": 2 * _MIB, "batch_step_bytes": _MIB, "batch_max_bytes": 64 * _MIB}
_ROOM_BYTES_PER_S = 60_000_000
_ROOM_BYTES = 1_000_000_000
_OVERRUN_S = 120.0
#: Ask the daemon only as often as it samples: each request takes CPU time that it reacts with.
_LOOK_S = 1.0
#: The law's window, and how often the daemon looks.
_WINDOW_S = 1.0
#: The clocks of LOG and samples differ by less than this.
_APART_S = 0.05
SENT = ("in-flight", "applied", "applied-unpersisted", "rejected", "reverted-by-engine", "changed-by-someone-else")


@dataclass(frozen=True, slots=True)
class LawDecision:
    """One decision of the law; unix seconds. `looked_s` is when what it saw was measured."""

    looked_s: float
    sent_s: float
    elapsed_s: float | None
    outcome: str
    words: str

    @property
    def is_sent(self) -> bool:
        """Whether any of its changes was sent to the database."""
        return self.outcome in SENT


@dataclass(frozen=True, slots=True)
class Reaction:
    """What followed one stall: seconds from its beginning, or why nothing did."""

    sent_s: float | None
    applied_s: float | None
    why_not: str | None


def reactions(stalls: Sequence[StallFound], decided: Sequence[LawDecision], watched_from_s: float) -> list[Reaction]:
    """Find the first decision on each stall, made on a window during which the stall held writes."""
    return [_reaction(stall, decided, watched_from_s) for stall in stalls]


def _reaction(stall: StallFound, decided: Sequence[LawDecision], watched_from_s: float) -> Reaction:
    if stall.begin_s < watched_from_s:
        return Reaction(None, None, "it began before the daemon had measured a whole window")
    seen = [one for one in decided if stall.begin_s - _APART_S <= one.looked_s <= stall.end_s + _WINDOW_S + _APART_S]
    sent = next((one for one in seen if one.is_sent), None)
    if sent is not None:
        applied_s = None if sent.elapsed_s is None else sent.sent_s + sent.elapsed_s - stall.begin_s
        return Reaction(max(0.0, sent.sent_s - stall.begin_s), applied_s, None)
    if seen:
        return Reaction(None, None, f"{seen[0].outcome}: {seen[0].words}" if seen[0].words else seen[0].outcome)
    if any(one.is_sent and one.sent_s <= stall.end_s and stall.begin_s <= _until_s(one) for one in decided):
        return Reaction(None, None, "an earlier change was still in flight")
    return Reaction(
        None, None, "the law decided nothing: no overflow at the window's end, or its knobs at their bounds"
    )


def _until_s(decision: LawDecision) -> float:
    return decision.sent_s + (decision.elapsed_s or 0.0) + _WINDOW_S


def reaction(seconds: float, runs: int, profile: str, directory: Path | None) -> Reactions:
    """Run stock db_bench under a cap and the law adoc the given number of times, each on a fresh database."""
    before = cpu_times()
    done = [_run(round(seconds), number + 1, profile, directory) for number in range(runs)]
    found = tuple(each for number, run in enumerate(done, 1) for each in _reactions(run, number))
    return Reactions(profile, round(seconds), runs, found, others_share(before, cpu_times()))


def _run(seconds: int, seed: int, profile: str, directory: Path | None) -> ObservedRun:
    bench = find_db_bench()
    wanted, size_bytes = parse_profile(profile), _ROOM_BYTES + seconds * _ROOM_BYTES_PER_S
    parent = choose_parent(directory, size_bytes)
    with interruptible(), run_directory() as room, workspace(parent) as place, capped(wanted, place, size_bytes) as cap:
        fill = Fill(cap.directory / "db", seconds, seed, room / "seconds.csv")
        command = [*bench.command(fill), *(f"--{name}={value}" for name, value in SMALL.items())]
        program = AgentProgram(bench.name, command, fill.directory, seconds + _OVERRUN_S)
        return observe(program, Policy("adoc", _PARAMETERS), cap, room, look_s=_LOOK_S)


def _reactions(run: ObservedRun, number: int) -> list[ReactedTo]:
    to_unix_s = run.unix_minus_monotonic_s
    decided = [_of(record, to_unix_s) for record in run.decisions if record.rule.startswith("adoc.")]
    found = reactions(run.stalls, decided, run.ticks[0].sample.monotonic_s + to_unix_s)
    return [
        ReactedTo(
            number, stall.cause, stall.condition, stall.begin_s, stall.end_s, one.sent_s, one.applied_s, one.why_not
        )
        for stall, one in zip(run.stalls, found, strict=True)
    ]


def _of(record: DecisionRecord, to_unix_s: float) -> LawDecision:
    return LawDecision(
        record.monotonic_s + to_unix_s,
        record.unix_s,
        record.elapsed_s,
        record.outcome,
        "; ".join(note.partition(":")[0] for note in record.guards),
    )
