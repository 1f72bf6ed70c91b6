"""The runs of an evaluation, their order, and which of them are still missing.

Schemes are interleaved: a repetition runs each of them once before the next begins, so that what changes on the machine
meanwhile meets all of them, and each repetition begins with another one. A block, which is a workload on a profile, has
a baseline of its own.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.circumstances import SCALE_MAX
from adocd_bench.evaluation.loads.workloads import workload
from adocd_bench.evaluation.raw import BASELINE
from adocd_bench.evaluation.schemes import scheme
from adocd_bench.host.device import parse_profile
from adocd_bench.results import ResultFile, is_there

#: Less is no second that is whole, and no flush.
SECONDS_MIN, SECONDS_MAX = 5, 24 * 3600
_REPEAT_MAX = 1000
_AT_ONCE_MAX = 64


@dataclass(frozen=True, slots=True)
class RunsAsked:
    """All that makes a plan; what is kept in `plan.json`, to be the same when it is resumed."""

    schemes: tuple[str, ...]
    profiles: tuple[str, ...]
    workloads: tuple[str, ...]
    seconds: int
    repeat: int
    scale: int = 1
    seed: int = 1
    rate_per_s: float | None = None
    device_gb: int | None = None
    at_once: int = 1


@dataclass(frozen=True, slots=True)
class Planned:
    """One run of a plan."""

    scheme: str
    profile: str
    workload: str
    repetition: int
    seed: int

    @property
    def block(self) -> str:
        """Return the block's name: runs of one block are compared with each other."""
        return block_name(self.profile, self.workload)

    @property
    def name(self) -> str:
        """Name it, and its file."""
        return f"{self.block}-{self.scheme}-{self.repetition}"


def block_name(profile: str, workload_name: str) -> str:
    """Name a workload on a profile so that it can be part of a file's name."""
    return re.sub(r"[^a-z0-9.-]+", "-", f"{profile}-{workload_name}".lower())


def checked(asked: RunsAsked) -> RunsAsked:
    """Add the baseline, drop what is named twice; raises BadArgument for what cannot be meant."""
    for seconds, name, least, most in (
        (asked.seconds, "--seconds", SECONDS_MIN, SECONDS_MAX),
        (asked.repeat, "--repeat", 1, _REPEAT_MAX),
        (asked.scale, "--scale", 1, SCALE_MAX),
        (asked.at_once, "--at-once", 1, _AT_ONCE_MAX),
    ):
        if not least <= seconds <= most:
            raise BadArgument(f"{name} must be from {least} to {most}, not {seconds}")
    if asked.rate_per_s is not None and not asked.rate_per_s > 0:
        raise BadArgument(f"--rate must be above 0 operations a second, not {asked.rate_per_s:g}")
    if asked.device_gb is not None and asked.device_gb < 1:
        raise BadArgument(f"--device-gb must be at least 1, not {asked.device_gb}")
    if asked.at_once > 1:
        _refuse_shared_devices(asked)
    names = [scheme(name).name for name in asked.schemes]
    return replace(
        asked,
        schemes=tuple(dict.fromkeys([BASELINE, *names])),
        profiles=tuple(dict.fromkeys(parse_profile(name).name for name in asked.profiles)),
        workloads=tuple(dict.fromkeys(workload(name).name for name in asked.workloads)),
    )


def _refuse_shared_devices(asked: RunsAsked) -> None:
    """Raise BadArgument for a profile on which runs at once would share a device."""
    for profile in map(parse_profile, asked.profiles):
        if profile.wal_outside or not profile.capped:
            raise BadArgument(
                f"--at-once {asked.at_once} needs a device of its own for each run, which {profile.name} does not "
                "give: use a profile cap-N, or omit --at-once"
            )


def planned(asked: RunsAsked) -> Iterator[Planned]:
    """Give all runs in the order in which they are made."""
    for profile in asked.profiles:
        for workload_name in asked.workloads:
            for repetition in range(1, asked.repeat + 1):
                for name in _rotated(asked.schemes, repetition - 1):
                    yield Planned(name, profile, workload_name, repetition, asked.seed + repetition - 1)


def _rotated(names: Sequence[str], by: int) -> Sequence[str]:
    first = by % len(names)
    return [*names[first:], *names[:first]]


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that failed: how often, and why the last time. `succeeded`: it was made in the end."""

    run: str
    sentence: str
    attempts: int
    succeeded: bool = False


#: One file for each run that ever failed: a run that only succeeds when it is tried again says something of its scheme.
FAILURES = ResultFile(TypeAdapter(FailedRun), "{file} is no record of a failed run ({why}): remove it")


class Folder:
    """The directory of a plan: what was asked, raw results by run, and which runs failed, and why."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.plan = directory, directory / "plan.json"
        self.runs, self.failed = directory / "runs", directory / "failed"

    def begin(self, asked: RunsAsked) -> None:
        """Make it, or go on in it, also with more repetitions, schemes, profiles or workloads than before.

        Raises BadArgument, as `check` does.
        """
        self.check(asked)
        _FILE.write(self.plan, asked)

    def check(self, asked: RunsAsked) -> None:
        """Make it, or see whether it can go on with this plan; a plan that was there stays, until `begin`.

        Raises BadArgument where another plan is there, unless nothing came of that yet, or it cannot be written to.
        """
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            self.failed.mkdir(exist_ok=True)
        except OSError as error:
            raise BadArgument(f"{self.directory} cannot be used ({error.strerror}): choose another --out") from None
        before = _FILE.read_if_there(self.plan)
        if before is None or self._is_untouched():
            _FILE.write(self.plan, asked)
        elif difference := _difference(before, asked):
            raise BadArgument(
                f"{self.directory} has another plan ({difference}): give the same options to resume it, or more "
                "repetitions, schemes, profiles or workloads, or choose another --out"
            )

    def _is_untouched(self) -> bool:
        """Whether nothing was measured or tried yet, as after a command whose device was refused as too small."""
        entries = {path.name for path in self.directory.iterdir()}
        return entries == {self.plan.name, self.runs.name, self.failed.name} and not any(
            any(each.iterdir()) for each in (self.runs, self.failed)
        )

    def file(self, run: Planned) -> Path:
        """Name the file of a run's raw result."""
        return self.runs / f"{run.name}.json"

    def left(self, asked: RunsAsked) -> list[Planned]:
        """Give the runs that have no result yet."""
        return [run for run in planned(asked) if not is_there(self.file(run))]

    def fail(self, run: Planned, sentence: str) -> None:
        """Keep why a run failed; it is tried again when the plan is resumed. Raises BadArgument."""
        before = self._failed_before(run)
        attempts = 1 if before is None else before.attempts + 1
        FAILURES.write(self._failure(run), FailedRun(run.name, sentence, attempts), indent=None)

    def succeed(self, run: Planned) -> None:
        """Keep that a run that had failed was made in the end. Raises BadArgument."""
        if (before := self._failed_before(run)) is not None:
            FAILURES.write(self._failure(run), replace(before, succeeded=True), indent=None)

    def _failure(self, run: Planned) -> Path:
        return self.failed / f"{run.name}.json"

    def _failed_before(self, run: Planned) -> FailedRun | None:
        with contextlib.suppress(BadArgument):  # what is damaged tells nothing
            return FAILURES.read_if_there(self._failure(run))
        return None


_FILE = ResultFile(TypeAdapter(RunsAsked), "{file} is no plan of adocd bench ({why}): choose another --out")


def _difference(before: RunsAsked, asked: RunsAsked) -> str:
    names = [name for name in RunsAsked.__slots__ if not _goes_on(name, getattr(before, name), getattr(asked, name))]
    return ", ".join(f"{name} {_words(getattr(before, name))}, not {_words(getattr(asked, name))}" for name in names)


def _goes_on(name: str, before: object, asked: object) -> bool:
    """Tell whether every run that was planned before is still planned, and made as it was."""
    if isinstance(before, tuple) and isinstance(asked, tuple):
        return set(before) <= set(asked)
    if name == "repeat" and isinstance(before, int) and isinstance(asked, int):
        return before <= asked
    return before == asked


def _words(value: object) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)
