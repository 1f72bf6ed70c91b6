"""Every law with parameters of its own, and a database that does what a law decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adocd.controllers import registry
from adocd.controllers.base import Controller
from adocd.controllers.mimd import DRAINS
from adocd.controllers.reads import BYTES_TICKERS, COUNT_TICKERS
from adocd.daemon.change.translate import options_of
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.policy import ParameterValue, Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import ColumnFamilySnapshot, Event, OptionValues
from adocd.model.values import Values, flat, nested
from adocd.probes.statistics import StatisticsProbe
from tests.builders import CAPABILITIES, DATABASE_OPTIONS, FAMILY_OPTIONS, snapshot

MB = 1_000_000
#: What each law needs to be given, the papers' own figures, and what makes it turn all of its knobs.
PARAMETERS: Mapping[str, Mapping[str, ParameterValue]] = {
    "manual": {"batch_size": 128 * MIB, "background_jobs": 8, "auto_compaction": True, "soft_pending_limit": 0},
    "mimd": {"max_bytes_per_s": 400 * MB},
    "toggle": {"cap_bytes_per_s": 190 * MB, "off_max_s": 86400.0},
    "silk": {"bandwidth_bytes_per_s": 200 * MB},
    "tide": {"limiter": True},
}
DATABASE = DATABASE_OPTIONS | {"bytes_per_sync": "0", "max_subcompactions": "1"}
RATE = 150 * MB
TICKERS = (DRAINS, *BYTES_TICKERS, *COUNT_TICKERS)


def make(name: str, **parameters: ParameterValue) -> Controller:
    """Make a law with its figures above, except for `parameters`."""
    return registry.create(Policy(name, {**PARAMETERS.get(name, {}), **parameters}))


def settings(decision: Decision | None) -> dict[Knob, int]:
    """Name what is decided for the database and its default column family."""
    return {} if decision is None else {s.knob: s.value for s in decision.settings}


def flushed(bytes_: int, elapsed_s: float = 1.0) -> Event:
    """A flush that has ended."""
    return Event(1, 100.0, "flush_end", column_family="default", bytes=bytes_, elapsed_s=elapsed_s)


class Plant:
    """A database with RocksDB's default options, whose figures a test sets, and whose options laws change."""

    def __init__(self, **options: str) -> None:
        values = OptionValues(DATABASE, {"default": FAMILY_OPTIONS | options}, RATE, {"low": 2, "high": 1})
        self.originals: Values = flat(values)
        self.values = dict(self.originals)
        self._reported: dict[str, tuple[Values, OptionValues]] = {}
        #: The names of options that the daemon holds back.
        self.held: set[str] = set()
        self.now_s = 100.0
        self.l0_files = self.levels_below = 0
        self.immutable_memtables = self.memtables_bytes = 0
        self.pending_bytes = 0
        self.level_bytes: tuple[int, ...] | None = (0,) * 7
        #: Of each second.
        self.tickers: dict[str, int] | None = dict.fromkeys(TICKERS, 0)
        self.members: dict[str, Any] = {"flush_written_bytes_per_s": 0.0, "compaction_written_bytes_per_s": 0.0}

    def sample(self, interval_s: float = 1.0) -> Sample:
        """Measure a window of this length."""
        probe = StatisticsProbe(CAPABILITIES)
        figures = {
            "rocksdb.num-files-at-level0": self.l0_files,
            **{f"rocksdb.num-files-at-level{level}": 1 for level in range(1, self.levels_below + 1)},
            "rocksdb.num-immutable-mem-table": self.immutable_memtables,
            "rocksdb.estimate-pending-compaction-bytes": self.pending_bytes,
        }
        options = self._as_reported("now", self.values)
        made = {"column_families": {"default": ColumnFamilySnapshot(figures)}, "options": options}
        probe.sample(snapshot(monotonic_s=self.now_s, **made))
        self.now_s += interval_s
        sample = probe.sample(snapshot(monotonic_s=self.now_s, sequence=2, **made))
        assert sample is not None
        (family,) = sample.column_families
        grown = None if self.tickers is None else {t: int(n * interval_s) for t, n in self.tickers.items()}
        return replace(
            sample,
            column_families=(replace(family, level_bytes=self.level_bytes, memtables_bytes=self.memtables_bytes),),
            ticker_increases=grown,
            originals=self._as_reported("originals", self.originals),
            **self.members,
        )

    def _as_reported(self, of: str, values: Values) -> OptionValues:
        """Give values as an agent reports them: made anew only where they change, as in the daemon."""
        known = self._reported.get(of)
        if known is None or known[0] != values:
            known = self._reported[of] = (dict(values), nested(values))
        return known[1]

    def do(self, decision: Decision | None, sample: Sample) -> None:
        """Let the options become what was decided."""
        for setting in () if decision is None else decision.settings:
            wanted = options_of(setting, sample, self.originals)
            self.values |= {option: value for option, value in wanted.items() if option.option not in self.held}

    def step(self, law: Controller, interval_s: float | None = None) -> Decision | None:
        """Ask the law about one window, and do what it decides."""
        sample = self.sample(law.window_s or law.period_s if interval_s is None else interval_s)
        decision = law.step(sample)
        self.do(decision, sample)
        return decision

    def now(self, option: str) -> str:
        """Read an option of the column family, or else of the database."""
        values = nested(self.values)
        return values.column_families["default"].get(option) or values.database[option]


def all_settings(decision: Decision | None) -> tuple[Setting, ...]:
    return () if decision is None else decision.settings
