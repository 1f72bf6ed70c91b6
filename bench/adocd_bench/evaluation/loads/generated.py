"""The load generator as a load: a database is loaded, settles, is measured, read where that is wanted, and drained."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adocd_bench.errors import RunFailed
from adocd_bench.evaluation.loads.program import LoadJob, LoadOutcome
from adocd_bench.load.build import GENERATOR
from adocd_bench.load.result import PhaseResult, read_result
from adocd_bench.load.spec import ClosedArrivals, Drain, KeyChoice, LoadSpec, Mix, Work
from adocd_bench.programs.fill import KEY_BYTES
from adocd_bench.run.observe import ObservedRun
from adocd_bench.run.settle import SETTLED_WITHIN_S

#: Extra time for loading and settling, and the same again for the drain.
_BESIDE_S = 900.0
#: The bench ends the drain; a program that gave up first would close its database under the bench.
_DRAIN_S = SETTLED_WITHIN_S + 60.0
_LOAD, _SETTLE, _READ, _GATHER, _DRAIN = "load", "settle", "read-once", "gather", "drain"
_PREPARING = {_LOAD, _SETTLE, _READ, _GATHER}
#: Reads of what a phase has left behind: the thesis's number (Warlo 2018, figure 4.2), or so long.
READS, READS_S = 100_000, 30.0


@dataclass(frozen=True, slots=True)
class GeneratedLoad:
    """A measured phase of the load generator's, and what is before and after it.

    Attributes:
        path: the generator.
        work: the measured phase.
        value_bytes: of each record.
        loaded: whether the records of `work` are there before it, each written once.
        cached: whether each record is read once before it, as part of the preparation. Flushes and compactions go past
            the page cache, so a short phase of reads would otherwise show mostly how fast the device fills the cache.
        warm_up: work of the same kind before it that is not measured.
        reads: what is read after it; None for nothing. The bench pins automatic compaction off meanwhile, as the thesis
            has it, and the reads begin when it is. The program leaves that option alone: adocd would take its value for
            the owner's wish, and restore it.
        drained: whether it is restored and drained afterwards; without, it ends with the last of these phases.
        arguments: for the record.

    """

    path: Path
    work: Work
    seconds: int
    value_bytes: int = 1000
    loaded: bool = True
    cached: bool = False
    warm_up: Work | None = None
    reads: Work | None = None
    drained: bool = True
    offered_per_s: float | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    name: str = GENERATOR.name

    @property
    def version(self) -> str:
        """Name it; it is compiled from the sources of this adocd."""
        return GENERATOR.name

    @property
    def loaded_bytes(self) -> int:
        """Say what is loaded."""
        return self.work.keys.records * self._record_bytes if self.loaded else 0

    @property
    def offered_bytes(self) -> int | None:
        """Count all operations as writes."""
        return None if self.offered_per_s is None else round(self.offered_per_s * self.seconds) * self._record_bytes

    def at_most_s(self, job: LoadJob) -> float:
        """Allow for the load, the others' load, what arrivals overrun, and the drain."""
        return 2 * job.seconds + 2 * _BESIDE_S + _DRAIN_S

    def command(self, job: LoadJob) -> list[str]:
        """Write its specification into the room, and build the command line that starts it under the agent."""
        file = job.room / "load.json"
        file.write_text(self.spec(job).to_json(), encoding="utf-8")
        return [sys.executable, "-m", "adocd", "exec", "--", str(self.path), str(file)]

    def is_preparing(self, job: LoadJob) -> bool:
        """Read its current phase from its standard output."""
        return self.loaded and self._phase(job) in _PREPARING

    def is_settling(self, job: LoadJob) -> bool:
        """Return whether its last phase has begun."""
        return self._phase(job) == _DRAIN

    @property
    def ends_by_itself(self) -> bool:
        """Wait to be released."""
        return False

    @property
    def gathers(self) -> bool:
        """Only what loads records takes so long that others may have to wait for it."""
        return self.loaded

    def is_gathered(self, job: LoadJob) -> bool:
        """Return whether it is in the phase that waits for the others."""
        return self.gathers and self._phase(job) == _GATHER and not _begun(job).exists()

    def begin(self, job: LoadJob) -> None:
        """Make the file that it waits for."""
        _begun(job).touch()

    def is_to_read(self, job: LoadJob) -> bool:
        """Return whether it is in the phase of the reads, which have not been admitted."""
        return self.reads is not None and self._phase(job) == self.reads.name and not _admitted(job).exists()

    def admit_reads(self, job: LoadJob) -> None:
        """Make the file that they wait for."""
        _admitted(job).touch()

    def release(self, job: LoadJob) -> None:
        """Make the file that it waits for."""
        _released(job).touch()

    def environment(self) -> Mapping[str, str]:
        """Return no variables: it needs none."""
        return {}

    def spec(self, job: LoadJob) -> LoadSpec:
        """Say what it is to do, with the options that db_bench has in a closed loop."""
        return LoadSpec(
            database=job.database,
            result=_result(job),
            phases=self._phases(job),
            create=True,
            options={**job.scheme.options, "use_direct_io_for_flush_and_compaction": True},
            rate_limiter_bytes_per_s=job.scheme.rate_limiter_bytes_per_s,
            auto_tuned=job.scheme.auto_tuned,
            statistics="tickers",
            key_bytes=KEY_BYTES,
            value_bytes=self.value_bytes,
            seed=job.seed,
        )

    def outcome(self, job: LoadJob, observed: ObservedRun) -> LoadOutcome:
        """Read its result file."""
        del observed
        result = read_result(_result(job))
        if result.interrupted:
            raise RunFailed(f"{GENERATOR.name} was interrupted")
        unsettled = next((each for each in result.phases if each.name == _SETTLE and not _has_settled(each)), None)
        if unsettled is not None and str(job.scheme.options.get("disable_auto_compactions", 0)) not in ("1", "true"):
            raise RunFailed(f"what was loaded had not been compacted within {unsettled.seconds:.0f} s")
        measured = result.measured
        following = result.phases[result.phases.index(measured) + 1 :]
        drains = [phase.begin_monotonic_s for phase in following if phase.drain is not None]
        after = [phase for phase in following if phase.operations]
        return LoadOutcome(
            operations=measured.operations,
            seconds=measured.raw_seconds,
            begin_monotonic_s=measured.begin_monotonic_s,
            measured_s=measured.seconds,
            clients_ended_monotonic_s=drains[0] if drains else None,
            rocksdb_version=result.rocksdb_version,
            after=tuple(each for phase in after for each in phase.operations),
            after_span_monotonic_s=_span_s(after),
        )

    @property
    def _record_bytes(self) -> int:
        return KEY_BYTES + self.value_bytes

    def _phase(self, job: LoadJob) -> str:
        """Name its phase, as its standard output has it; the first one before it has said anything."""
        output = job.room / f"{self.name}.out"
        said = output.read_text(encoding="utf-8") if output.exists() else ""
        return said.split()[-1] if said else self._phases(job)[0].name

    def _phases(self, job: LoadJob) -> tuple[Work | Drain, ...]:
        phases: list[Work | Drain] = []
        if self.loaded:
            phases += [load(self.work.keys.records), Drain(_SETTLE, _DRAIN_S)]
        if self.cached:
            phases.append(_read_once(self.work.keys.records))
        if self.gathers:
            phases.append(Drain(_GATHER, _BESIDE_S, _begun(job)))
        if self.warm_up is not None:
            phases.append(self.warm_up)
        phases.append(replace(self.work, measured=True))
        if self.reads is not None:
            phases.append(replace(self.reads, waits_for=_admitted(job)))
        if self.drained:
            phases.append(Drain(_DRAIN, _DRAIN_S, _released(job)))
        return tuple(phases)


def load(records: int) -> Work:
    """Write each record once, in the order of their numbers, which is random in that of their keys."""
    return Work(_LOAD, ClosedArrivals(count=records), Mix(update=1.0), KeyChoice("sequential", records))


def _read_once(records: int) -> Work:
    return Work(_READ, ClosedArrivals(count=records), Mix(read=1.0), KeyChoice("sequential", records), threads=4)


def _has_settled(phase: PhaseResult) -> bool:
    return phase.drain is not None and phase.drain.reached


def _span_s(phases: Sequence[PhaseResult]) -> tuple[float, float] | None:
    """Say from when until when some phases went on, on the monotonic clock; None without any."""
    if not phases:
        return None
    return phases[0].begin_monotonic_s, phases[-1].begin_monotonic_s + phases[-1].seconds


def _begun(job: LoadJob) -> Path:
    return job.room / "begun"


def _admitted(job: LoadJob) -> Path:
    return job.room / "admitted"


def _released(job: LoadJob) -> Path:
    return job.room / "drained"


def _result(job: LoadJob) -> Path:
    return job.room / "load-result.json"
