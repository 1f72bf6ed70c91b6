"""A run put together of what was seen: stalls count in the measured phase alone, whenever they began."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import adocd_bench
import pytest
from adocd_bench.evaluation import one, raw
from adocd_bench.evaluation.loads.program import LoadJob, LoadOutcome, LoadProgram
from adocd_bench.host.device import parse_profile
from adocd_bench.host.usage import Usage
from adocd_bench.run.observe import ObservedRun, Tick, Watched
from adocd_bench.run.settle import Settlement

from adocd.model.policy import Policy
from adocd.model.snapshot import OptionValues
from tests.bench.evaluation.builders import MACHINE, wanted_run
from tests.controllers.laws import Plant
from tests.probes.log.lines import AT_S, line, parsed

if TYPE_CHECKING:
    from adocd_bench.host.cap import Cap

    from adocd.model.sample import Sample

#: The measured phase is from 100 to 110 s of the monotonic clock, which is AT_S in the LOG.
BEGIN_S, MEASURED_S = 100.0, 10.0
STOPPING = "[WARN] [db/column_family.cc:861] [default] Stopping writes because we have 36 level-0 files"


def observed(begin_s: float, end_s: float) -> ObservedRun:
    """Return what is seen of a run whose LOG has one stall, in seconds of the measured phase."""
    said = line(STOPPING, AT_S + begin_s) + line("[db/x.cc:1] [default] Level summary: files[36 0]", AT_S + end_s)
    tick = Tick(replace(Plant().sample(1.0), monotonic_s=BEGIN_S + MEASURED_S), "")
    used = Usage(1.0, 1, 0)
    return ObservedRun("", (tick,), (), OptionValues(), tuple(parsed(said)), {BEGIN_S: used}, used, AT_S - BEGIN_S)


def assembled(seen: ObservedRun) -> raw.RawRun:
    outcome = LoadOutcome((), (), BEGIN_S, MEASURED_S, None, "7.8.3")
    return one.assembled(wanted_run(), MACHINE, seen, outcome, raw.Noise(0.0), (0.0, 12.0), Settlement())


@pytest.mark.parametrize(
    ("begin_s", "end_s", "stalled_s"),
    [
        (-3.0, 2.0, 2.0),  # it began while the program prepared
        (3.0, 7.25, 4.25),
        (8.0, 13.0, 2.0),  # it goes on while the debt is paid
        (-1.0, 11.0, 10.0),
        (11.0, 14.0, 0.0),
    ],
)
def test_a_stall_counts_for_as_long_as_it_is_in_the_measured_phase(
    begin_s: float, end_s: float, stalled_s: float
) -> None:
    (found,) = assembled(observed(begin_s, end_s)).stalls
    assert [found.begin_s, found.end_s] == pytest.approx([begin_s, end_s], abs=1e-3)
    assert found.stalled_s == pytest.approx(stalled_s, abs=1e-3)
    assert (found.condition, found.cause) == ("stopped", "l0")


def test_a_stall_that_ended_before_the_phase_is_none_of_it() -> None:
    assert assembled(observed(-5.0, -1.0)).stalls == ()


class Reader:
    """A program that waits to read, and what the daemon sees of it and is asked."""

    def __init__(self) -> None:
        self.pins: list[tuple[str, str]] = []
        self.admitted: list[LoadJob] = []
        self.newest: Sample | None = None

    def is_to_read(self, job: LoadJob) -> bool:  # noqa: ARG002
        """Wait until it is admitted."""
        return not self.admitted

    def admit_reads(self, job: LoadJob) -> None:
        """Read."""
        self.admitted.append(job)

    def pin(self, option: str, value: str) -> None:
        """Note it."""
        self.pins.append((option, value))

    def see(self, *, off: bool, after_s: float) -> None:
        """Have a sample from so long after now."""
        plant = Plant(disable_auto_compactions=str(off).lower())
        self.newest = replace(plant.sample(1.0), monotonic_s=time.monotonic() + after_s)


def reading(reader: Reader) -> one._Reading:
    job = LoadJob(Path("db"), Path(), 60, 1, wanted_run().scheme)
    return one._Reading(cast("LoadProgram", reader), job)


def test_reads_after_the_phase_wait_until_compaction_is_pinned_off() -> None:
    reader = Reader()
    read, seen = reading(reader), cast("Watched", reader)
    reader.see(off=True, after_s=-1.0)
    read.look(seen)
    assert not reader.admitted, "that it was off before the pin says nothing of the law"
    reader.see(off=False, after_s=1.0)
    read.look(seen)
    assert not reader.admitted
    reader.see(off=True, after_s=1.0)
    read.look(seen)
    assert len(reader.admitted) == 1
    assert reader.pins == [("disable_auto_compactions", "true")]


def test_reads_after_the_phase_begin_all_the_same_where_a_guard_holds_the_pin_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The report then has no figure of them, since the samples show that compaction was on."""
    reader = Reader()
    read, seen = reading(reader), cast("Watched", reader)
    reader.see(off=False, after_s=1.0)
    read.look(seen)
    assert not reader.admitted
    monkeypatch.setattr(one, "_PINNED_WITHIN_S", 0.0)
    read.look(seen)
    assert len(reader.admitted) == 1


class Gatherer:
    """A program that has prepared."""

    def __init__(self) -> None:
        self.begun = False

    def is_preparing(self, job: LoadJob) -> bool:  # noqa: ARG002
        """Go on until it is told to begin."""
        return not self.begun

    def is_gathered(self, job: LoadJob) -> bool:  # noqa: ARG002
        """Wait."""
        return not self.begun

    def begin(self, job: LoadJob) -> None:  # noqa: ARG002
        """Begin."""
        self.begun = True


def test_the_bench_loses_patience_with_the_pin_before_the_program_does() -> None:
    phase = Path(adocd_bench.__path__[0]) / "load" / "native" / "src" / "phase.cc"
    (within_s,) = re.findall(r"kBegunWithinS = (\d+)", phase.read_text())
    assert int(within_s) >= one._PINNED_WITHIN_S + 10


def test_a_run_that_has_prepared_waits_for_the_others() -> None:
    program, others = Gatherer(), [False, True]
    job = LoadJob(Path("db"), Path(), 60, 1, wanted_run().scheme)
    cap = cast("Cap", SimpleNamespace(profile=parse_profile("uncapped")))
    seen = cast("Watched", SimpleNamespace(is_found=lambda: False))
    policy = Policy("fixed")
    preparing = one._Preparing(cap, cast("LoadProgram", program), job, policy, lambda: others.pop(0))
    begun = []
    for _ in range(3):
        preparing.look(seen)
        begun.append(program.begun)
    assert begun == [False, True, True]
    assert not others, "it is not asked again"
