"""Where a plan's runs take place: a directory on a disk, the machine's facts, and the device's measured figures."""

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from adocd.model.sample import Sample
from adocd_bench.errors import BadArgument
from adocd_bench.evaluation import measured, one, raw
from adocd_bench.evaluation.circumstances import Circumstances
from adocd_bench.evaluation.code_hash import code_in_use
from adocd_bench.evaluation.lanes import Lanes
from adocd_bench.evaluation.loads.program import LoadProgram
from adocd_bench.evaluation.loads.workloads import LoadAsked, workload
from adocd_bench.evaluation.machine import machine
from adocd_bench.evaluation.measured import MeasuredDevice
from adocd_bench.evaluation.plan import Planned, RunsAsked
from adocd_bench.evaluation.progress import RunsProgress
from adocd_bench.evaluation.schemes import Scheme
from adocd_bench.host.bandwidth import refuse_above
from adocd_bench.host.cap import Cap, capped
from adocd_bench.host.device import DeviceProfile, parse_profile
from adocd_bench.host.own_devices import OwnDevices
from adocd_bench.run.workspace import choose_parent, needed_bytes, workspace

#: Disk space for loaded records, as a multiple of their size: a compaction needs its inputs and outputs at once.
_LOADED_TIMES = 3
_GB = 1_000_000_000
_EDITED = "the sources of adocd or of the bench, or the agent, were changed since the bench began"


@dataclass(slots=True)
class RunSite:
    """The site of a plan's runs.

    Attributes:
        parent: the directory in which each run has its own for a while, with the database or a device of its own.
        room_bytes: the space that any of the runs needs at most, the size of such a device.
        file: where `known` is kept.
        machine: the machine's facts.
        known: what was measured on the device so far.
        lanes: do several runs at once.
        devices: count what is written to the runs' own devices.

    """

    parent: Path
    room_bytes: int
    file: Path
    machine: raw.Machine
    known: MeasuredDevice
    lanes: Lanes
    devices: OwnDevices = field(default_factory=OwnDevices)

    def know_flushing(self, profile: DeviceProfile, scale: int, progress: RunsProgress) -> None:
        """Measure the rate that flushes alone reach on a profile, unless it is known. Raises BenchError."""
        if profile.name in self.known.flushing_bytes_per_s:
            return
        progress.say(f"measuring the rate that flushes alone reach on {profile.name}")
        with self._capped(profile) as cap:
            self.known = measured.flushing(self.known, cap, self.machine, scale)
        measured.keep(self.file, self.known)

    def circumstances(self, profile: DeviceProfile, scale: int) -> Circumstances:
        """Return what schemes need to know about a profile."""
        return Circumstances(
            scale=scale,
            bandwidth_bytes_per_s=self.known.bandwidth_under(profile),
            flushing_bytes_per_s=self.known.flushing_bytes_per_s.get(profile.name),
        )

    def run(
        self,
        wanted: one.WantedRun,
        load: LoadProgram,
        on_look: one.OnLook = lambda _: None,
        may_begin: one.MayBegin = lambda: True,
    ) -> raw.RawRun:
        """Make one run under its profile's cap; raises BenchError, and KeyboardInterrupt if all lanes are to end."""

        def look(sample: Sample | None) -> None:
            self.lanes.check()
            on_look(sample)

        before = code_in_use()
        with self._capped(parse_profile(wanted.profile)) as cap, self.devices.counting(cap):
            made = one.run(wanted, load, cap, self.machine, self.devices, look, may_begin)
        made = replace(made, machine=replace(made.machine, code=before))
        if {self.machine.code, before, code_in_use()} == {before}:
            return made
        return replace(made, warnings=(*made.warnings, _EDITED))

    @contextlib.contextmanager
    def _capped(self, profile: DeviceProfile) -> Iterator[Cap]:
        with workspace(self.parent) as place, capped(profile, place, self.room_bytes) as cap:
            yield cap


@contextlib.contextmanager
def setting(asked: RunsAsked, out: Path, directory: Path | None) -> Iterator[RunSite]:
    """Find a directory with enough room for any of the runs, and measure its device once.

    The databases' directory is removed afterwards. Raises BenchError.
    """
    profiles = [parse_profile(name) for name in asked.profiles]
    room = max(_room_bytes(asked, name, profile) for name in asked.workloads for profile in profiles)
    if asked.device_gb is not None:
        least = max(
            math.ceil(_least_bytes(asked, name, profile) / _GB) for name in asked.workloads for profile in profiles
        )
        if asked.device_gb < least:
            raise BadArgument(f"--device-gb must be at least {least} for these runs, not {asked.device_gb}")
        room = asked.device_gb * _GB
    parent = choose_parent(directory, room * asked.at_once)
    with workspace(parent) as place:
        for profile in profiles:
            with capped(profile, place, room):  # refuse a profile that cannot be capped before measuring anything
                pass
        file = out / "measured.json"
        here = machine(place)
        known = measured.know(file, place, here)
        for profile in profiles:
            refuse_above(profile, known.bandwidth, asked.at_once)
        found = known.told(here)
    yield RunSite(parent, room, file, found, known, Lanes(asked.at_once))


def _room_bytes(asked: RunsAsked, workload_name: str, profile: DeviceProfile) -> int:
    load = program(asked, workload_name)
    offered_bytes = load.offered_bytes
    if workload(workload_name).needs_maximum:  # the rate is yet to be found
        offered_bytes = _baseline_bytes(load.seconds, profile)
    return needed_bytes(load.seconds, profile, asked.scale, offered_bytes) + _LOADED_TIMES * load.loaded_bytes


def _least_bytes(asked: RunsAsked, workload_name: str, profile: DeviceProfile) -> int:
    """Return the smallest device for a run: under a cap that holds the WAL, each byte is written there and in a flush.

    A device that is not asked for is larger, because `tide` keeps a share of the free space in level 0.
    """
    load = program(asked, workload_name)
    most_bytes = None if profile.wal_outside else _baseline_bytes(load.seconds, profile)
    if load.offered_bytes is not None and not workload(workload_name).needs_maximum:
        most_bytes = load.offered_bytes if most_bytes is None else min(load.offered_bytes, most_bytes)
    return needed_bytes(load.seconds, profile, asked.scale, most_bytes) + _LOADED_TIMES * load.loaded_bytes


def _baseline_bytes(seconds: int, profile: DeviceProfile) -> int | None:
    """Return what clients write at most where each byte goes to the device twice; None where only the disk bounds it.

    The baseline does so at a share of its maximum, in a flush and in a merge.
    """
    return None if profile.write_bytes_per_s is None else profile.write_bytes_per_s * seconds // 2


def program(asked: RunsAsked, workload_name: str, found_per_s: float | None = None) -> LoadProgram:
    """Make the load program of a workload; raises BenchError.

    `found_per_s` is the rate of a workload whose rate is found by a search. Before the search it is None, and the
    program, which then only serves for checks, has a rate of 1/s.
    """
    work = workload(workload_name)
    rate_per_s = asked.rate_per_s
    if work.needs_maximum:
        if rate_per_s is not None:
            raise BadArgument(f"{workload_name} finds its own rate: omit --rate")
        rate_per_s = found_per_s or 1.0
    return work.program(LoadAsked(asked.seconds, asked.scale, rate_per_s))


def prepare(there: RunSite, asked: RunsAsked, schemes: Sequence[Scheme], progress: RunsProgress) -> None:
    """Measure what the schemes need to know before their runs; raises BenchError."""
    if any(each.needs_flushing for each in schemes):
        for name in asked.profiles:
            there.know_flushing(parse_profile(name), asked.scale, progress)


def wanted(asked: RunsAsked, run: Planned, used: raw.SchemeUsed, load: LoadProgram) -> one.WantedRun:
    """Describe one run, for its result."""
    work = workload(run.workload)
    told = raw.WorkloadUsed(work.name, work.title, load.name, load.arguments, load.seconds, load.offered_per_s)
    return one.WantedRun(
        block=run.block,
        scheme=used,
        profile=run.profile,
        workload=told,
        program_version=load.version,
        repetition=run.repetition,
        seed=run.seed,
        scale=asked.scale,
        at_once=asked.at_once,
    )
