"""Measurements made once per plan and machine, and kept with its runs: the device, and the rate of flushing alone."""

import statistics
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter

from adocd.model.options import OUT_OF_THE_WAY
from adocd_bench.errors import RunFailed
from adocd_bench.evaluation import one, raw
from adocd_bench.evaluation.circumstances import Circumstances
from adocd_bench.evaluation.loads.closed_loop import DbBenchLoad
from adocd_bench.evaluation.raw import BASELINE
from adocd_bench.evaluation.schemes import scheme
from adocd_bench.host import bandwidth
from adocd_bench.host.bandwidth import DeviceBandwidth
from adocd_bench.host.cap import Cap
from adocd_bench.host.device import DeviceProfile
from adocd_bench.host.own_devices import OwnDevices
from adocd_bench.programs.db_bench import find_measuring_db_bench
from adocd_bench.results import ResultFile

FLUSHING_SECONDS = 10
#: Without compactions and without a limit on level 0, flushes alone bound the clients' rate.
_FLUSHES_ALONE = {
    "disable_auto_compactions": "1",
    "level0_file_num_compaction_trigger": str(OUT_OF_THE_WAY),
    "level0_slowdown_writes_trigger": str(OUT_OF_THE_WAY),
    "level0_stop_writes_trigger": str(OUT_OF_THE_WAY),
    "soft_pending_compaction_bytes_limit": "0",
    "hard_pending_compaction_bytes_limit": "0",
}


@dataclass(frozen=True, slots=True)
class MeasuredDevice:
    """What was measured of the device, and on which machine.

    Attributes:
        bandwidth: the device's; None without direct I/O.
        flushing_bytes_per_s: the rate that flushes alone reach, by profile.
        cpu_model, kernel: of the machine; None if they were not recorded.

    """

    bandwidth: DeviceBandwidth | None
    flushing_bytes_per_s: dict[str, int] = field(default_factory=dict)
    cpu_model: str | None = None
    kernel: str | None = None

    def is_of_another(self, machine: raw.Machine) -> bool:
        """Say whether it is known to have been measured on another machine, or under another kernel."""
        pairs = ((self.cpu_model, machine.cpu_model), (self.kernel, machine.kernel))
        return any(then is not None and then != now for then, now in pairs)

    def told(self, machine: raw.Machine) -> raw.Machine:
        """Add the bandwidth to the facts about the machine."""
        if self.bandwidth is None:
            return machine
        write, read = self.bandwidth.write_bytes_per_s, self.bandwidth.read_bytes_per_s
        return replace(machine, device_write_bytes_per_s=write, device_read_bytes_per_s=read)

    def bandwidth_under(self, profile: DeviceProfile) -> int | None:
        """Give what a profile leaves of the device, in bytes/s: its cap, else what was measured."""
        if profile.write_bytes_per_s is not None:
            return profile.write_bytes_per_s
        return None if self.bandwidth is None else int(self.bandwidth.write_bytes_per_s)


_FILE = ResultFile(TypeAdapter(MeasuredDevice))


def know(file: Path, place: Path, machine: raw.Machine) -> MeasuredDevice:
    """Read what was measured before on this machine, or measure the device now; raises BadArgument."""
    before = _FILE.read_if_there(file)
    if before is not None and not before.is_of_another(machine):
        return before
    found = bandwidth.measure(place)
    return keep(file, MeasuredDevice(found, cpu_model=machine.cpu_model, kernel=machine.kernel))


def keep(file: Path, known: MeasuredDevice) -> MeasuredDevice:
    """Write it down; raises BadArgument."""
    _FILE.write(file, known)
    return known


def flushing(known: MeasuredDevice, cap: Cap, machine: raw.Machine, scale: int) -> MeasuredDevice:
    """Measure the rate that flushes alone reach under a cap; raises RunFailed."""
    used = scheme(BASELINE).used(Circumstances(scale))
    used = replace(used, options={**used.options, **_FLUSHES_ALONE})
    program = DbBenchLoad(
        find_measuring_db_bench(), "fillrandom", FLUSHING_SECONDS, drained=False
    )  # nothing is ever compacted here
    workload = raw.WorkloadUsed("fillrandom", "", program.name, {}, program.seconds)
    wanted = one.WantedRun("flushing", used, cap.profile.name, workload, program.version, 1, 1, scale)
    run = one.run(wanted, program, cap, machine, OwnDevices())
    rates = [each.flush_written_bytes_per_s or 0.0 for each in run.samples if each.at_s <= run.measured_s]
    if not any(rates):
        raise RunFailed("nothing was flushed while the rate of flushes was measured")
    reached = {**known.flushing_bytes_per_s, cap.profile.name: round(statistics.fmean(rates))}
    return replace(known, flushing_bytes_per_s=reached)
