"""What must act for a claim to be about its law: knobs that must be away, and for which share of the measured phase.

The shares follow from the loads and the laws' own thresholds. They were written down on 2026-11-23: before any run that
was made later, but after the kept results of that month, of which it was known what the laws had done. Those of
`speedb`, `tikv` and `cockroach` were written down before any run of them, that of `tide` after its first one.

A run in which the mechanism did not act is left out of the claim; where none is left, the verdict is `did not act`. So
is a run whose load is beyond what the law presumes (floors.py, written down on 2026-11-26).
Schemes that are options at open have no mechanism.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adocd_bench.evaluation.report import floors, words
from adocd_bench.evaluation.report.acting import Acted
from adocd_bench.evaluation.report.summary import Block, Judged, SchemeSummary, without

#: What the daemon decides by itself: repeating or putting back a change.
_DAEMONS = "actuator."
_HALF, _QUARTER, _NEARLY_ALL = 0.5, 0.25, 0.9


@dataclass(frozen=True, slots=True)
class Needed:
    """One part of a mechanism: any of the knobs away for a share of the phase, or for another one in some workloads."""

    what: str
    knobs: tuple[str, ...]
    least: float
    least_in: Mapping[str, float] = field(default_factory=dict)

    def least_share(self, workload: str) -> float:
        """Give the least share in a workload."""
        return self.least_in.get(workload, self.least)

    def missing(self, acted: Acted, workload: str) -> str | None:
        """Say what was missing in a run; None where it acted."""
        share, least = acted.away_share(*self.knobs), self.least_share(workload)
        if share >= least:
            return None
        return f"{self.what} for {words.share(share)} of the phase, {words.share(least)} needed"

    def words(self) -> str:
        """Say the rule."""
        others = "".join(f", {words.share(least)} in {name}" for name, least in self.least_in.items())
        return f"{self.what} ({', '.join(self.knobs)}): {words.share(self.least)} of the phase{others}"


@dataclass(frozen=True, slots=True)
class Mechanism:
    """All parts must act.

    Attributes:
        needed: the parts.
        workload: which load makes them act, and why.
        floor: the law presumes that its floor flushes what clients write (floors.py).

    """

    needed: tuple[Needed, ...]
    workload: str
    floor: bool = False

    def missing(self, judged: Judged) -> str | None:
        """Say what was missing in a run; None where all of it acted."""
        if self.floor and (said := floors.unmet(judged.run)) is not None:
            return f"its precondition is not met: {said}"
        acted, workload = judged.figures.acted, judged.run.workload.name
        return next((said for each in self.needed if (said := each.missing(acted, workload)) is not None), None)

    def words(self) -> str:
        """Say the rule."""
        parts = [each.words() for each in self.needed]
        return "; ".join([*parts, floors.RULE] if self.floor else parts)


_THREADS = Needed("threads were moved", ("background_jobs",), _HALF)
_BATCH = Needed("the batch was moved", ("batch_size",), _HALF)
_LIMITER = Needed("the limiter was moved", ("rate_limit",), _HALF)
_HELD = Needed("deeper compactions were held back", ("level_base_size",), _QUARTER)
#: The wave is above its middle for half of its 350 s; a tail of 350 or 650 s makes that a smaller share.
_OFF = Needed(
    "compaction was off", ("auto_compaction",), _QUARTER, {"sine-700": _QUARTER / 2, "sine-1000": _QUARTER * 0.35}
)
_NO_SLOWDOWN = Needed("the slowdown was out of the way", ("level0_slowdown_trigger",), _NEARLY_ALL)
_STALLS = "writes as fast as they go, for the rules answer stalls, and the baseline must have some"
_PEAKS = (
    "peaks in which clients use more than 75 % of the bandwidth, the law's own threshold for a hold; peaks take half "
    "of the time or more, and half of that is needed"
)

#: Scheme, or what a point asks of one -> its mechanism.
MECHANISMS: Mapping[str, Mechanism] = {
    "adoc": Mechanism((Needed("threads or batch were moved", ("background_jobs", "batch_size"), _HALF),), _STALLS),
    "adoc, both knobs": Mechanism(
        (_THREADS, _BATCH), "the same, until level 0 overflows as well, for only that raises threads"
    ),
    "adoc-threads": Mechanism((_THREADS,), "the same: level 0 at its slowdown trigger raises threads"),
    "adoc-batch": Mechanism((_BATCH,), "the same: memtable stalls raise the batch"),
    "adoc-released": Mechanism(
        (Needed("threads or batch were moved", ("background_jobs", "batch_size"), _HALF),), _STALLS
    ),
    "auto-tuned": Mechanism((_LIMITER,), "any with flushes and compactions, which RocksDB's own tuning counts"),
    "mimd": Mechanism((_LIMITER,), "any with flushes and compactions"),
    "toggle": Mechanism(
        (_OFF,),
        "flushes at half of the device or more, for longer than the law's window of 10 s and dwell time of 30 s: the "
        "thesis's wave, half of which is above its middle, and half of that is needed; fillrandom of 300 s or more",
    ),
    "toggle-without-bounds": Mechanism((_OFF,), "as for toggle"),
    "toggle-two-memtables": Mechanism((_OFF,), "as for toggle"),
    "toggle-residual": Mechanism((_LIMITER,), "the thesis's wave"),
    "silk": Mechanism((_LIMITER, _HELD), _PEAKS, floor=True),
    "silk-bandwidth": Mechanism((_LIMITER,), _PEAKS, floor=True),
    "silk-floor": Mechanism((_LIMITER, _HELD), _PEAKS, floor=True),
    "silk-floor-bandwidth": Mechanism((_LIMITER,), _PEAKS, floor=True),
    "silk-hold": Mechanism((_HELD,), _PEAKS),
    "stability": Mechanism((_NO_SLOWDOWN,), "any that stalls"),
    "stability-36": Mechanism((_NO_SLOWDOWN,), "any that stalls"),
    "spring-and-gear": Mechanism(
        (Needed("the delay followed level 0", ("delayed_write_rate",), _HALF),), "any that fills level 0"
    ),
    "speedb": Mechanism(
        (Needed("the rate followed what was left before a stop", ("delayed_write_rate",), _QUARTER),),
        "any that is delayed for half of the time, by level 0 or pending bytes; the rate is the owner's at a limit",
    ),
    "tikv": Mechanism(
        (
            Needed("the slowdown was TiKV's", ("level0_slowdown_trigger",), _NEARLY_ALL),
            Needed("the rate was a limit, or the next one", ("delayed_write_rate",), _NEARLY_ALL),
        ),
        "any that fills level 0 to more than 20 files, again and again; below that nothing differs",
    ),
    "cockroach": Mechanism(
        (
            Needed("the slowdown was at 5 files", ("level0_slowdown_trigger",), _HALF),
            Needed("the rate followed level 0", ("delayed_write_rate",), _HALF),
        ),
        "any that keeps level 0 at 5 files or more, for much longer than the law's 15 s",
    ),
    "tide": Mechanism(
        (
            Needed("the memory budget was taken", ("memtable_size", "memtable_number"), _HALF),
            Needed("level 0's gate was shut", ("level0_compaction_trigger",), _HALF),
        ),
        "writes as fast as they go; beside reads the gate is shut only up to six tenths of the owner's slowdown",
    ),
    "tide-limiter": Mechanism(
        (Needed("the rate limiter was turned", ("rate_limit",), _QUARTER),),
        "reads that reach the disks, beside writes that make compactions go on for a quarter of the time",
    ),
    "bad": Mechanism((Needed("the limiter was down", ("rate_limit",), _NEARLY_ALL),), "any"),
}


def idle(block: Block, mechanisms: Mapping[str, str]) -> dict[str, dict[int, str]]:
    """Say what was missing in each run, by scheme and repetition, in which the scheme's mechanism did not act."""
    found = {name: (block.scheme(name), MECHANISMS.get(wanted)) for name, wanted in mechanisms.items()}
    return {name: _missing(*each) for name, each in found.items()}


def acting(block: Block, mechanisms: Mapping[str, str]) -> tuple[Block | None, str]:
    """Leave out the runs in which a scheme's mechanism did not act; None, and why, where none of a scheme is left."""
    missing = idle(block, mechanisms)
    said = [
        f"{scheme.name} did not act: {'; '.join(dict.fromkeys(missing[scheme.name].values()))}"
        for scheme in map(block.scheme, mechanisms)
        if scheme is not None and len(missing[scheme.name]) == len(scheme.runs)
    ]
    if said:
        return None, "; ".join(said)
    if not any(missing.values()):
        return block, ""
    return without(block, lambda run: run.repetition in missing.get(run.scheme.name, {})), ""


def applied(block: Block, schemes: Iterable[str]) -> str:
    """Name the law's rules that were applied in the measured phase; the daemon's own are left out."""
    said = []
    for name in schemes:
        scheme = block.scheme(name)
        runs = scheme.used if scheme else ()
        rules = sorted({each.rule for judged in runs for each in judged.figures.acted.of("phase")})
        mine = [rule for rule in rules if not rule.startswith(_DAEMONS)]
        said += [f"{name} applied {', '.join(mine)}"] if mine else []
    return "; ".join(said)


def _missing(scheme: SchemeSummary | None, mechanism: Mechanism | None) -> dict[int, str]:
    if scheme is None or mechanism is None:
        return {}
    found = ((judged.run.repetition, mechanism.missing(judged)) for judged in scheme.runs)
    return {repetition: said for repetition, said in found if said is not None}
