"""Runs each law on a real db_bench and compares its decisions with a direct reading of its rule on the same samples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from adocd.controllers import registry
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import ParameterValue, Policy
from adocd_bench.laws.measure import Flags, LawPlan, MeasuredLaw
from adocd_bench.laws.readings import MB, MIB, READINGS
from adocd_bench.laws.wanted import WantedSettings
from adocd_bench.laws.windows import gaps, windows

#: The demo's device, where a database with RocksDB's default options stalls within seconds.
PROFILE, _DEVICE = "cap-210", 210 * MB
#: Small memtables make files, compactions and stalls eight times as frequent as with 64 MiB.
_SMALL: Flags = {
    "write_buffer_size": 8 * MIB,
    "target_file_size_base": 8 * MIB,
    "max_bytes_for_level_base": 32 * MIB,
    "soft_pending_compaction_bytes_limit": 1024 * MIB,
}
#: The toggle bounds the number of files, whatever their size: small files reach it within one window.
_ROCKSDBS_OWN: Flags = {}
#: Laws that turn the limiter need one at the open, and tickers.
_LIMITER: Flags = {"rate_limiter_bytes_per_sec": _DEVICE, "statistics": 1}
_PARAMETERS: Mapping[str, Mapping[str, ParameterValue]] = {
    "manual": {"batch_size": 128 * MIB, "background_jobs": 4},
    "mimd": {"max_bytes_per_s": _DEVICE},
    # Low enough that this machine's flushes use half of it.
    "toggle": {"cap_bytes_per_s": 50 * MB},
    "silk": {"bandwidth_bytes_per_s": _DEVICE},
}
_FLAGS: Mapping[str, Flags] = {
    "mimd": {**_SMALL, **_LIMITER},
    "silk": {**_SMALL, **_LIMITER},
    "toggle": _ROCKSDBS_OWN,
    # Its reading knows RocksDB's own sizes; without tickers it would take reads for granted.
    "tide": {"statistics": 1},
}
_SETTINGS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Compared:
    """One window: when it ended, what the law decided, and what the reading decides."""

    at_s: float
    decided: WantedSettings
    read: WantedSettings
    why: str

    @property
    def agrees(self) -> bool:
        """Whether law and reading agree."""
        return self.decided == self.read


@dataclass(frozen=True, slots=True)
class Trace:
    """All windows of a run; `gaps` counts samples that were not caught, whose windows cannot be compared."""

    law: str
    windows: tuple[Compared, ...]
    gaps: int

    @property
    def acted(self) -> int:
        """Return the number of windows in which law or reading acted."""
        return sum(bool(each.decided or each.read) for each in self.windows)

    @property
    def agreed(self) -> int:
        """Return the number of windows in which both agree, including those in which neither acts."""
        return sum(each.agrees for each in self.windows)


def plan(law: str, seconds: int, profile: str = PROFILE) -> LawPlan:
    """Return the setting in which a law runs here."""
    return LawPlan(law, seconds, profile, _PARAMETERS.get(law, {}), _FLAGS.get(law, _SMALL))


def compared(measured: MeasuredLaw) -> Trace:
    """Compare the decisions with the reading, window by window."""
    law = measured.plan.law
    reading, knobs = READINGS[law]
    controller = registry.create(Policy(law, measured.plan.parameters))
    seen = windows(measured.ticks, controller.window_s or controller.period_s)
    shown = [replace(sample, originals=measured.originals) for sample in seen]
    by_time = {
        round(record.monotonic_s, 6): record for record in measured.decisions if record.rule.startswith(f"{law}.")
    }
    begin_s = measured.ticks[0].sample.monotonic_s - measured.ticks[0].sample.interval_s
    found = []
    for sample, read in zip(shown, reading(shown, measured.plan.parameters), strict=True):
        record = by_time.get(round(sample.monotonic_s, 6))
        decided = _settings(record, knobs)
        found.append(Compared(sample.monotonic_s - begin_s, decided, read, record.signal if record else ""))
    return Trace(law, tuple(found), gaps(measured.ticks))


def _settings(record: DecisionRecord | None, knobs: frozenset[str] | None) -> WantedSettings:
    if record is None:
        return {}
    return {
        (str(setting.knob), setting.column_family): setting.value
        for setting in record.settings
        if knobs is None or str(setting.knob) in knobs
    }


def table(traces: Sequence[Trace]) -> str:
    """Make a table of all laws, and below it the windows in which law and reading differ."""
    lines = ["| law | windows | in which either acts | law and reading agree | they part |", "|---|---|---|---|---|"]
    for trace in traces:
        parted = len(trace.windows) - trace.agreed
        lines.append(f"| `{trace.law}` | {len(trace.windows)} | {trace.acted} | {trace.agreed} | {parted} |")
    lines.append("")
    for trace in traces:
        lines += [f"{trace.law}: {line}" for line in _parted(trace)]
        if trace.gaps:
            lines.append(f"{trace.law}: {trace.gaps} samples were not caught, and windows with them say nothing")
    return "\n".join([*lines, ""])


def trace(of: Trace) -> str:
    """Write one line for every window in which law or reading acts."""
    lines = [f"{of.law}: seconds, what the law decided, what the reading says, what the law saw"]
    for each in of.windows:
        if each.decided or each.read:
            mark = " " if each.agrees else "!"
            lines.append(f"{mark} {each.at_s:6.1f}  {_words(each.decided)}  |  {_words(each.read)}  |  {each.why}")
    return "\n".join([*lines, ""])


def _parted(of: Trace) -> Iterator[str]:
    for each in of.windows:
        if not each.agrees:
            decided, read = _words(each.decided), _words(each.read)
            yield f"at {each.at_s:.1f} s the law decided {decided}, and the reading says {read}"


def _words(wanted: WantedSettings) -> str:
    words = [f"{knob}={value}" for (knob, _), value in sorted(wanted.items(), key=lambda each: each[0][0])]
    more = len(words) - _SETTINGS_SHOWN
    return (", ".join(words[:_SETTINGS_SHOWN]) + (f" and {more} more" if more > 0 else "")) or "nothing"
