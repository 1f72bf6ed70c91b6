"""The schemes that are compared: what a database is opened with, and which law the daemon has.

All run with the agent and the daemon attached, so that measuring costs each the same; where nothing is to be turned,
the policy is `fixed`. What they are opened with is the ADOC paper's (adoc-fast23, section 3.1), db_bench's defaults,
named one by one, for RocksDB's own differ in two (delayed_write_rate 16 MiB/s, hard limit 256 GiB).

A scale of N divides every size of the database and every bound in bytes of a law by N, so that levels fill and debts
grow N times as soon: what a big machine shows in hours, a small one shows in minutes. Bandwidths are the device's and
are not divided: choose a smaller cap.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adocd.controllers import registry
from adocd.model.knob import MIB
from adocd.model.options import OUT_OF_THE_WAY
from adocd.model.policy import ParameterValue, Policy
from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.raw import SchemeUsed

GIB = 1 << 30
#: The smallest size in bytes that laws accept.
SCALE_MAX = 64
_SIZES = {
    "write_buffer_size": 64 * MIB,
    "target_file_size_base": 64 * MIB,
    "max_bytes_for_level_base": 256 * MIB,
    "soft_pending_compaction_bytes_limit": 64 * GIB,
    "hard_pending_compaction_bytes_limit": 128 * GIB,
    "delayed_write_rate": 8 * MIB,
}
_COUNTS = {
    "max_background_jobs": 2,
    "max_write_buffer_number": 2,
    "level0_file_num_compaction_trigger": 4,
    "level0_slowdown_writes_trigger": 20,
    "level0_stop_writes_trigger": 36,
}
#: A level holds so many batches more than the one above level 1 takes in: what ADOC's batch sets (LAWS, section 5).
_LEVEL_BASE_BATCHES = 4
#: The paper's margin and step, 10 of 200 MB/s (silk-atc19, 5.2.1), as a share of the bandwidth here.
_SILK_SHARE = 20
_BAD_SHARE = 20

Options = Mapping[str, int]
Parameters = Mapping[str, ParameterValue]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What schemes are told: the scale, and of the device what was measured.

    Attributes:
        scale: every size is divided by it.
        bandwidth_bytes_per_s: the device's, the profile's cap or the measured one; None where it is not known.
        flushing_bytes_per_s: what flushing alone reaches; None where it was not measured.
        grid_best: the options that the grid found; None where there was no grid.

    """

    scale: int = 1
    bandwidth_bytes_per_s: int | None = None
    flushing_bytes_per_s: int | None = None
    grid_best: Options | None = None

    def size(self, size_bytes: int) -> int:
        """Scale a size or a bound in bytes, down to 1 MiB."""
        return max(MIB, size_bytes // self.scale)

    @property
    def bandwidth(self) -> int:
        """The device's bandwidth in bytes/s; raises BadOption where it is not known."""
        if self.bandwidth_bytes_per_s is None:
            raise BadArgument("the device's bandwidth is not known here: use a profile with a cap, such as cap-210")
        return self.bandwidth_bytes_per_s


def _no_options(_: Circumstances) -> Options:
    return {}


def _no_parameters(_: Circumstances) -> Parameters:
    return {}


@dataclass(frozen=True, slots=True)
class Scheme:
    """One scheme; `options` are at the open, beside `base_options`, by RocksDB's names.

    Attributes:
        limiter: whether a rate limiter is there from the open on, at the device's bandwidth.
        auto_tuned: whether RocksDB turns it.
        tick_s: the daemon's cycle; less than a second where the law's period is, and it then costs more.
        needs_flushing: whether it must be told what flushing alone reaches.
        needs_grid: whether the grid comes before it.

    """

    name: str
    title: str
    policy: str = "fixed"
    parameters: Callable[[Circumstances], Parameters] = _no_parameters
    options: Callable[[Circumstances], Options] = _no_options
    limiter: bool = False
    auto_tuned: bool = False
    tick_s: float = 1.0
    needs_flushing: bool = False
    needs_grid: bool = False

    def used(self, here: Circumstances) -> SchemeUsed:
        """Say how it is run; raises BadOption where the circumstances do not allow it."""
        parameters = dict(self.parameters(here))
        try:
            registry.create(Policy(self.policy, parameters))
        except registry.PolicyError as error:
            raise BadArgument(f"the scheme {self.name} cannot be run here: {error}") from None
        options = {**base_options(here.scale), **self.options(here)}
        return SchemeUsed(
            name=self.name,
            title=self.title,
            options={name: str(value) for name, value in options.items()},
            rate_limiter_bytes_per_s=here.bandwidth if self.limiter else None,
            auto_tuned=self.auto_tuned,
            policy=self.policy,
            parameters=parameters,
            tick_s=self.tick_s,
        )


def base_options(scale: int) -> Options:
    """Say what every database is opened with, unless its scheme says otherwise."""
    here = Circumstances(scale)
    return {**{name: here.size(size) for name, size in _SIZES.items()}, **_COUNTS}


def batch(size_bytes: int) -> Options:
    """Carry a batch as ADOC does, by three options (adoc-fast23, 5)."""
    return {
        "write_buffer_size": size_bytes,
        "target_file_size_base": size_bytes,
        "max_bytes_for_level_base": _LEVEL_BASE_BATCHES * size_bytes,
    }


def _silk_preset(threads: int, batch_mib: int) -> Callable[[Circumstances], Options]:
    """Make the ADOC paper's settings for SILK (6.1), level 0's limits extremely large, for RocksDB without SILK."""
    return lambda here: {
        **batch(here.size(batch_mib * MIB)),
        "max_background_jobs": threads,
        "level0_slowdown_writes_trigger": OUT_OF_THE_WAY,
        "level0_stop_writes_trigger": OUT_OF_THE_WAY,
    }


def _limits_raised(_: Circumstances) -> Options:
    """Put the limits of level 0 and of pending bytes out of the way, as the thesis's 3.5.6 does, and nothing else."""
    return {
        "level0_slowdown_writes_trigger": OUT_OF_THE_WAY,
        "level0_stop_writes_trigger": OUT_OF_THE_WAY,
        "soft_pending_compaction_bytes_limit": 0,
        "hard_pending_compaction_bytes_limit": 0,
    }


def _grid_best(here: Circumstances) -> Options:
    if here.grid_best is None:
        raise BadArgument("the scheme grid-best needs the grid's result: run `adocd bench grid` first")
    return here.grid_best


def _adoc(**switches: bool) -> Callable[[Circumstances], Parameters]:
    return lambda here: {
        **switches,
        "batch_min_bytes": here.size(64 * MIB),
        "batch_max_bytes": here.size(512 * MIB),
        "batch_step_bytes": here.size(64 * MIB),
    }


def _adoc_released(here: Circumstances) -> Parameters:
    return {"batch_min_bytes": here.size(64 * MIB), "batch_max_bytes": here.size(512 * MIB)}


def _toggle(here: Circumstances) -> Parameters:
    if here.flushing_bytes_per_s is None:
        raise BadArgument("the scheme toggle needs to know what flushing alone reaches, which was not measured")
    return {
        "cap_bytes_per_s": here.flushing_bytes_per_s,
        "l0_bytes_max": here.size(16 * GIB),
        "pending_bytes_max": here.size(256 * GIB),
    }


def _silk(**switches: bool) -> Callable[[Circumstances], Parameters]:
    return lambda here: {
        **switches,
        "bandwidth_bytes_per_s": here.bandwidth,
        "margin_bytes_per_s": here.bandwidth // _SILK_SHARE,
        "step_bytes_per_s": here.bandwidth // _SILK_SHARE,
        "debt_bytes_max": here.size(64 * GIB),
    }


def _stability(here: Circumstances) -> Parameters:
    return {"file_size_max_bytes": here.size(64 * MIB), "bytes_per_sync": here.size(16 * MIB)}


_SILK_TICK_S = 0.2
_ALL = (
    Scheme("default", "RocksDB as db_bench opens it: 2 background jobs, memtables of 64 MiB"),
    Scheme("auto-tuned", "RocksDB's own auto-tuned rate limiter (ADOC's RocksDB-AT)", limiter=True, auto_tuned=True),
    Scheme("grid-best", "the best static threads and batch, found by a grid", options=_grid_best, needs_grid=True),
    Scheme("adoc", "ADOC, as the paper has it", "adoc", _adoc()),
    Scheme("adoc-threads", "ADOC-T: threads only", "adoc", _adoc(tune_batch=False)),
    Scheme("adoc-batch", "ADOC-B: batch only", "adoc", _adoc(tune_threads=False)),
    Scheme("adoc-released", "ADOC, as the published code has it", "adoc-released", _adoc_released),
    Scheme(
        "mimd",
        "RocksDB's auto-tuning of the limiter, from outside",
        "mimd",
        lambda here: {"max_bytes_per_s": here.bandwidth},
        limiter=True,
    ),
    Scheme("toggle", "automatic compaction off in write peaks (Warlo)", "toggle", _toggle, needs_flushing=True),
    Scheme(
        "toggle-residual",
        "the limiter at the cap, compaction gets the rest (Warlo 5.2)",
        "toggle",
        lambda here: {**_toggle(here), "residual": True},
        limiter=True,
        needs_flushing=True,
    ),
    Scheme(
        "limits-raised",
        "the toggle's limits without its switch: none on level 0 and pending bytes (Warlo 4.5)",
        options=_limits_raised,
    ),
    Scheme("silk", "SILK: bandwidth and hold", "silk", _silk(), limiter=True, tick_s=_SILK_TICK_S),
    Scheme("silk-bandwidth", "SILK, bandwidth only", "silk", _silk(hold=False), limiter=True, tick_s=_SILK_TICK_S),
    Scheme("silk-hold", "SILK, hold only", "silk", _silk(bandwidth=False), tick_s=_SILK_TICK_S),
    Scheme("stability", "performance stability: a stop, no slowdown", "stability", _stability),
    Scheme(
        "spring-and-gear",
        "bLSM's spring and gear, with one gear",
        "spring-and-gear",
        lambda here: {"floor_bytes_per_s": here.size(4 * MIB)},
    ),
    Scheme("silk-d", "the ADOC paper's settings SILK-D, without SILK: 2 threads, 64 MiB", options=_silk_preset(2, 64)),
    Scheme(
        "silk-p", "the ADOC paper's settings SILK-P, without SILK: 4 threads, 128 MiB", options=_silk_preset(4, 128)
    ),
    Scheme(
        "silk-o", "the ADOC paper's settings SILK-O, without SILK: 8 threads, 512 MiB", options=_silk_preset(8, 512)
    ),
    Scheme(
        "bad",
        "deliberately bad: the limiter at a twentieth of the device",
        "manual",
        lambda here: {"rate_limit": max(MIB, here.bandwidth // _BAD_SHARE)},
        limiter=True,
    ),
)
SCHEMES: Mapping[str, Scheme] = {scheme.name: scheme for scheme in _ALL}
BASELINE = "default"
DEFAULT_SCHEMES = (BASELINE, "auto-tuned", "grid-best", "adoc", "silk", "toggle")


def scheme(name: str) -> Scheme:
    """Find a scheme by its name; raises BadOption that lists those there are."""
    if name not in SCHEMES:
        raise BadArgument(f"there is no scheme {name!r}: use some of {', '.join(SCHEMES)}")
    return SCHEMES[name]
