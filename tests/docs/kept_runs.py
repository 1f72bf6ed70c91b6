"""The kept raw results of the evaluation, and how docs/results.md writes what they come to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import pairwise

from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.accounting import RunFigures, figures
from adocd_bench.evaluation.report.measures import MEASURES
from adocd_bench.evaluation.report.read import found_in
from adocd_bench.evaluation.report.summary import Block, compared

from tests.bench.kept import RESULTS
from tests.conftest import REPOSITORY

RAW = RESULTS / "evaluation"
PAGE = (REPOSITORY / "docs" / "results.md").read_text()
#: The page's words on one line, to look for a sentence in.
WORDS = " ".join(PAGE.split())
README = " ".join((REPOSITORY / "README.md").read_text().split())


@functools.lru_cache(maxsize=1)
def raw_runs(directory: str) -> tuple[RawRun, ...]:
    """Read a directory; only the last one stays, because each holds a sample a second."""
    return found_in(RAW / directory).runs


@functools.cache
def runs(directory: str, scheme: str) -> tuple[RawRun, ...]:
    """Read a scheme's runs, by repetition."""
    found = [run for run in raw_runs(directory) if run.scheme.name == scheme]
    assert [run.repetition for run in sorted(found, key=lambda run: run.repetition)] == [1, 2]
    return tuple(sorted(found, key=lambda run: run.repetition))


def all_figures(directory: str, scheme: str) -> list[RunFigures]:
    return [figures(run) for run in runs(directory, scheme)]


def pair(values: list[float], form: str = "{:.2f}") -> str:
    return " and ".join(form.format(value) for value in values)


def listed(values: list[float], form: str) -> str:
    told = [format(each, form) for each in values]
    return f"{', '.join(told[:-1])} and {told[-1]}"


def over_default(directory: str, scheme: str, member: str) -> str:
    """Write the two ratios to the default's run of the same repetition."""
    mine, default = all_figures(directory, scheme), all_figures(directory, "default")
    return pair([getattr(one, member) / getattr(other, member) for one, other in zip(mine, default, strict=True)])


def off_s(run: RawRun) -> float:
    """Say how long compaction was off in the phase, by the daemon's samples."""
    return sum(
        min(after.at_s, run.phase_s) - max(before.at_s, 0.0)
        for before, after in pairwise(run.samples)
        if not before.compaction_enabled and before.at_s < run.phase_s
    )


def to_default(kept: Iterable[RawRun], scheme: str, of: Callable[[RawRun], float]) -> list[float]:
    """Return the ratios of a scheme to the default, by repetition."""
    both = [run for run in kept if run.scheme.name in (scheme, "default")]
    mine, default = ({run.repetition: of(run) for run in both if run.scheme.name == n} for n in (scheme, "default"))
    return [mine[repetition] / default[repetition] for repetition in sorted(mine)]


def measured(name: str) -> Callable[[RawRun], float]:
    """Return what reads one of the report's measures, which the run must have."""

    def of(run: RawRun) -> float:
        found = MEASURES[name].of(figures(run))
        assert found is not None
        return found

    return of


def paid_pairs(directory: str, profile: str, scheme: str, measure: str, *, missing: int = 0) -> str:
    """Write the ratios of a scheme to the default, pair by pair; `missing` of its runs failed."""
    kept = [run for run in raw_runs(directory) if run.profile == profile]
    assert all(run.settled is not None for run in kept)
    ratios = to_default(kept, scheme, measured(measure))
    assert len(ratios) + missing == len([run for run in kept if run.scheme.name == "default"]) >= 5
    return listed(ratios, ".2f")


def difference(block: Block, measure: str, one: str, other: str) -> str:
    """Name the report's verdict on two schemes of a block."""
    schemes = block.scheme(one), block.scheme(other)
    assert schemes[0] is not None
    assert schemes[1] is not None
    return compared(measure, schemes[0], schemes[1]).difference
