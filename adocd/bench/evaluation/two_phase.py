"""The stability paper's evaluation in two phases, and the highest rate that really lasts.

Testing phase (performance-stability-vldb19, 3.2): how many updates a second a closed loop of one writer makes, under
the baseline and never under the law that is tested, after a warm-up (its first 20 of 120 minutes are left out).
Running phase: as an open loop at 95 % of that, judged by latencies with queueing.

That maximum may not last, for RocksDB merges as many files of level 0 as there are (6.2: 30 % too high). Bisection of
the running phase finds what does: a rate lasts where all operations were started and 99 % of them ended within a
second of their arrival. The paper judges by its plots; this rule is ours.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from adocd.bench.errors import BadOption, RunFailed
from adocd.bench.evaluation import raw
from adocd.bench.evaluation.generated import Generated
from adocd.bench.evaluation.kept import write_whole
from adocd.bench.evaluation.program import LoadProgram
from adocd.bench.load.spec import Closed

RUNNING_SHARE = 0.95
_WARM_UP_SHARE = 1 / 6
#: A rate lasts where so many of the operations took no longer than so many seconds from their arrival on.
_LASTS_SHARE, _LASTS_US = 0.99, 1_000_000
#: Bisection ends when what lasts and what does not are so close.
_CLOSE = 0.05


@dataclass(frozen=True, slots=True)
class Judged:
    """One rate of the bisection: offered, carried out, and whether it lasts."""

    offered_per_s: float
    done_per_s: float
    p99_total_us: int
    lasts: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a block: the testing phase's maximum, and the bisection so far."""

    seconds: int
    scale: int
    maximum_per_s: float
    tested: tuple[Judged, ...] = ()

    @property
    def bounds(self) -> tuple[float, float]:
        """The highest rate that lasted, and the lowest above it that did not; 0 and the maximum before any test."""
        lasting = max((each.offered_per_s for each in self.tested if each.lasts), default=0.0)
        failing = [each.offered_per_s for each in self.tested if not each.lasts and each.offered_per_s > lasting]
        return lasting, min(failing, default=self.maximum_per_s)

    @property
    def next_per_s(self) -> float | None:
        """The rate to be tested next; None where what lasts is known."""
        lasting, failing = self.bounds
        if not self.tested:
            return RUNNING_SHARE * self.maximum_per_s
        return None if failing - lasting <= _CLOSE * self.maximum_per_s else (lasting + failing) / 2


_FOUND = TypeAdapter(Found)


def testing_phase(running: LoadProgram, seconds: int) -> Generated:
    """Make the testing phase's program: the running phase's work in a closed loop of one writer."""
    if not isinstance(running, Generated):
        raise BadOption("only what the load generator does has two phases")
    warm_up_s = seconds * _WARM_UP_SHARE
    work = replace(running.work, arrivals=Closed(seconds=seconds - warm_up_s), threads=1)
    warm_up = replace(work, name="warm-up", arrivals=Closed(seconds=warm_up_s))
    return replace(running, work=work, warm_up=warm_up, seconds=round(seconds - warm_up_s), offered_per_s=None)


def maximum_per_s(run: raw.Run) -> float:
    """Read the testing phase's maximum; raises RunFailed where there is none."""
    done = sum(each.count for each in run.operations)
    if not done:
        raise RunFailed("nothing was written in the testing phase")
    return done / run.measured_s


def judged(run: raw.Run) -> Judged:
    """Say whether a running phase's rate lasts."""
    totals = [each.total for each in run.operations if each.total is not None]
    counted = sum(count for total in totals for _, _, count in total.buckets)
    late = sum(count for total in totals for low, _, count in total.buckets if low > _LASTS_US)
    done = sum(each.count for each in run.operations)
    offered = run.workload.offered_per_s or 0.0
    started = counted == done
    return Judged(
        offered_per_s=offered,
        done_per_s=done / run.measured_s,
        p99_total_us=max((percentile_us(total, _LASTS_SHARE) for total in totals), default=0),
        lasts=started and late <= (1 - _LASTS_SHARE) * counted,
    )


def percentile_us(histogram: raw.Histogram, share: float) -> int:
    """Give the upper end of the bucket that a percentile falls into."""
    wanted, seen = share * sum(count for _, _, count in histogram.buckets), 0
    for _, highest, count in histogram.buckets:
        seen += count
        if seen >= wanted:
            return min(highest, histogram.max_us)
    return histogram.max_us


def found(file: Path, seconds: int, scale: int, measure: Callable[[], float]) -> Found:
    """Read what was found before, or measure the maximum now and keep it; raises BenchError."""
    try:
        before = _FOUND.validate_json(file.read_bytes())
    except FileNotFoundError:
        return keep(file, Found(seconds, scale, measure()))
    except OSError as error:
        raise BadOption(f"{file} cannot be read ({error.strerror}): choose another --out") from None
    except ValidationError as error:
        raise BadOption(f"{file} is damaged ({error.errors()[0]['msg']}): remove it") from None
    if (before.seconds, before.scale) != (seconds, scale):
        raise BadOption(f"{file} is for other --seconds or another --scale: give the same, or choose another --out")
    return before


def keep(file: Path, what: Found) -> Found:
    """Write it down; raises BadOption."""
    write_whole(file, _FOUND.dump_json(what, indent=1) + b"\n")
    return what
