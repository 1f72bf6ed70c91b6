"""What was measured, as it is kept: every stall's delay, by setting, detector and kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from adocd.diagnosis.stalls.seen import Kind
from adocd_bench.detection.measure import MeasuredSetting
from adocd_bench.detection.score import Detector, DetectorOutcome, Tally
from adocd_bench.results import ResultFile


@dataclass(frozen=True, slots=True)
class KeptTally:
    """A detector's score on the true stalls of one kind that are longer, or shorter, than the period; seconds."""

    kind: Kind
    length: Literal["longer", "shorter"]
    true: int
    seen: int
    right: int
    late_s: tuple[float, ...]
    off_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class KeptOutcome:
    """One detector's score on one setting's run."""

    detector: Detector
    period_s: float
    told: int
    false: int
    tallies: tuple[KeptTally, ...]


@dataclass(frozen=True, slots=True)
class KeptSetting:
    """One setting's run, under the native or the Python agent; how many true stalls its stall events confirm."""

    name: str
    agent: str
    true: int
    confirmed: int
    outcomes: tuple[KeptOutcome, ...]

    def scores(self) -> list[DetectorOutcome]:
        """Give its scores as they were measured."""
        return [
            DetectorOutcome(
                self.name,
                each.detector,
                each.period_s,
                {
                    (of.kind, of.length): Tally(of.true, of.seen, of.right, list(of.late_s), list(of.off_s))
                    for of in each.tallies
                },
                each.told,
                each.false,
            )
            for each in self.outcomes
        ]


@dataclass(frozen=True, slots=True)
class MeasuredDetection:
    """A whole run; `others_cpu_fraction` is what other programs used of the machine, the databases not among them."""

    began_unix_s: float
    cpus: int
    seconds: int
    others_cpu_fraction: float
    settings: tuple[KeptSetting, ...]


FILE = ResultFile(TypeAdapter(MeasuredDetection), option="--keep")


def kept(measured: Sequence[MeasuredSetting]) -> tuple[KeptSetting, ...]:
    """Take what was measured; seconds to a tenth of a millisecond."""
    return tuple(
        KeptSetting(
            each.setting.name,
            each.setting.agent,
            each.true,
            each.confirmed,
            tuple(
                KeptOutcome(
                    outcome.detector,
                    outcome.period_s,
                    outcome.told,
                    outcome.false,
                    tuple(_tally(*of) for of in sorted(outcome.tallies.items())),
                )
                for outcome in each.outcomes
            ),
        )
        for each in measured
    )


def _tally(of: tuple[Kind, Literal["longer", "shorter"]], tally: Tally) -> KeptTally:
    kind, length = of
    late_s, off_s = (tuple(round(each, 4) for each in seconds) for seconds in (tally.late_s, tally.off_s))
    return KeptTally(kind, length, tally.true, tally.seen, tally.right, late_s, off_s)
