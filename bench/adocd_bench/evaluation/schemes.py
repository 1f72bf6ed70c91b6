"""The schemes that are compared: the options a database is opened with, and the daemon's law.

All schemes run with the agent and the daemon, so that measuring costs each the same; one that tunes nothing has the
policy `fixed`. The options at open are the ADOC paper's (adoc-fast23, section 3.1), which are db_bench's defaults. They
are listed here because two of RocksDB's own defaults differ (delayed_write_rate 16 MiB/s, hard limit 256 GiB).

A scale of N divides all sizes of the database and all limits in bytes of a law by N, so that levels fill and pending
compaction bytes grow N times sooner: a small machine shows in minutes what a big one shows in hours. Bandwidths are not
divided, because they are the device's: choose a smaller cap.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from adocd.controllers import registry
from adocd.model.knob import MIB
from adocd.model.options import OUT_OF_THE_WAY
from adocd.model.policy import ParameterValue, Policy
from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.circumstances import GIB, Circumstances, Options, base_options, batch
from adocd_bench.evaluation.raw import BASELINE, SchemeUsed

#: The divisor of the bandwidth for SILK's margin and step: the paper has 10 of 200 MB/s (silk-atc19, 5.2.1).
_SILK_SHARE = 20
#: The floor of `silk-floor` in percent of the bandwidth T (see `_silk_floor`).
_SILK_FLOOR_PCT = 60
_BAD_SHARE = 20
#: Memtables that toggle prepares, its own default.
_TOGGLE_MEMTABLES = 6
#: What keeps the daemon's own guard from switching compaction on.
_COMPACTION_OFF_FOR_GOOD = {
    "compaction_off_s": 86400,
    "compaction_off_l0_files": 10_000,
    "compaction_off_pending_bytes": OUT_OF_THE_WAY * MIB,
}
#: ADOC's largest batch at scale 1.
_ADOC_BATCH = 512 * MIB
_SILK_P_BATCH_MIB = 128
#: Times the trigger, which is 4 in every scheme that has it: the stop of `default` and `spring-and-gear`.
_STOP_AT_36 = 9
#: Tide's own defaults at scale 1.
_TIDE_MEMORY, _TIDE_MEMTABLES = 512 * MIB, 4

Parameters = Mapping[str, ParameterValue]


def _no_options(_: Circumstances) -> Options:
    return {}


def _no_parameters(_: Circumstances) -> Parameters:
    return {}


@dataclass(frozen=True, slots=True)
class Scheme:
    """One scheme.

    Attributes:
        name: what `--scheme` takes.
        title: one line that describes it.
        policy: the daemon's law.
        parameters: the law's parameters.
        options: the options at open, by RocksDB's names; they replace those of `base_options`.
        limiter: whether the database is opened with a rate limiter, at the device's bandwidth.
        auto_tuned: whether RocksDB tunes the rate limiter.
        tick_s: the daemon's cycle; less than 1 s only if the law's period is, because short cycles cost more.
        safety: the daemon's limits that are not its defaults, by the names in its configuration.
        needs_flushing: whether it needs the rate that flushes alone reach.
        needs_grid: whether it needs the grid's result.
        needs_grid_within: whether it needs that of the grid within the baseline's memory.

    """

    name: str
    title: str
    policy: str = "fixed"
    parameters: Callable[[Circumstances], Parameters] = _no_parameters
    options: Callable[[Circumstances], Options] = _no_options
    limiter: bool = False
    auto_tuned: bool = False
    tick_s: float = 1.0
    safety: Mapping[str, int] = field(default_factory=dict)
    needs_flushing: bool = False
    needs_grid: bool = False
    needs_grid_within: bool = False

    def used(self, here: Circumstances) -> SchemeUsed:
        """Return the scheme as it is run here; raises BadArgument if it cannot be run here."""
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
            safety=self.safety,
        )


def _silk_preset(threads: int, batch_mib: int) -> Callable[[Circumstances], Options]:
    """Return the options that the ADOC paper gives SILK (6.1), with extremely large level-0 triggers."""
    return lambda here: {
        **batch(here.size(batch_mib * MIB)),
        "max_background_jobs": threads,
        "level0_slowdown_writes_trigger": OUT_OF_THE_WAY,
        "level0_stop_writes_trigger": OUT_OF_THE_WAY,
    }


def _tide_memory(here: Circumstances) -> Options:
    return {
        "write_buffer_size": here.size(_TIDE_MEMORY // _TIDE_MEMTABLES),
        "max_write_buffer_number": _TIDE_MEMTABLES,
    }


def _limits_raised(_: Circumstances) -> Options:
    """Remove the limits on level-0 files and pending compaction bytes, as the thesis's 3.5.6 does; nothing else."""
    return {
        "level0_slowdown_writes_trigger": OUT_OF_THE_WAY,
        "level0_stop_writes_trigger": OUT_OF_THE_WAY,
        "soft_pending_compaction_bytes_limit": 0,
        "hard_pending_compaction_bytes_limit": 0,
    }


def _compaction_disabled(here: Circumstances) -> Options:
    """Switch compaction off, with what toggle prepares for that: the thesis's Disabled Compactions (4.3)."""
    return {
        **_limits_raised(here),
        "disable_auto_compactions": 1,
        "level0_file_num_compaction_trigger": OUT_OF_THE_WAY,
        "max_write_buffer_number": _TOGGLE_MEMTABLES,
    }


def _grid_best(here: Circumstances) -> Options:
    if here.grid_best is None:
        raise BadArgument("the scheme grid-best needs the grid's result: run `adocd bench grid` first")
    return here.grid_best


def _grid_best_within(here: Circumstances) -> Options:
    if here.grid_best_within is None:
        raise BadArgument("the scheme grid-best-within-memory needs its grid's result: run it with `adocd bench run`")
    return here.grid_best_within


def _adoc(**switches: bool) -> Callable[[Circumstances], Parameters]:
    return lambda here: {
        **switches,
        "batch_min_bytes": here.size(64 * MIB),
        "batch_max_bytes": here.size(_ADOC_BATCH),
        "batch_step_bytes": here.size(64 * MIB),
    }


def _adoc_released(here: Circumstances) -> Parameters:
    return {"batch_min_bytes": here.size(64 * MIB), "batch_max_bytes": here.size(_ADOC_BATCH)}


def _toggle(here: Circumstances) -> Parameters:
    if here.flushing_bytes_per_s is None:
        raise BadArgument("the scheme toggle needs the rate that flushes alone reach, which was not measured")
    return {
        "cap_bytes_per_s": here.flushing_bytes_per_s,
        "l0_bytes_max": here.size(16 * GIB),
        "pending_bytes_max": here.size(256 * GIB),
    }


def _toggle_without_bounds(here: Circumstances) -> Parameters:
    return {
        **_toggle(here),
        "hysteresis_pct": 0,
        "dwell_s": 0.0,
        "off_max_s": 86400.0,
        "l0_files_max": 10_000,
        "l0_bytes_max": OUT_OF_THE_WAY * MIB,
        "pending_bytes_max": OUT_OF_THE_WAY * MIB,
    }


def _silk(**switches: bool) -> Callable[[Circumstances], Parameters]:
    return lambda here: {
        **switches,
        "bandwidth_bytes_per_s": here.bandwidth,
        "margin_bytes_per_s": here.bandwidth // _SILK_SHARE,
        "step_bytes_per_s": here.bandwidth // _SILK_SHARE,
        "debt_bytes_max": here.size(64 * GIB),
    }


def _silk_floor(**switches: bool) -> Callable[[Circumstances], Parameters]:
    """Give SILK the least floor that flushes whatever clients may write in a peak.

    The paper's minimum flushing bandwidth is "sufficient to be able to flush the immutable memory component before the
    active one fills up" (5.2.2), and L0-L1 compactions share it. Its 50 of 200 MB/s (6.1) is 2.4 times what its own
    clients write (6.4); `silk` has the same quarter, but our clients use up to T in a peak, for only above 0.75 T does
    the law hold deeper compactions back. At most 57 % of that are writes (6.2; half in 6.4), so 0.6 T flushes them,
    and in the 50:50 mixes leaves a sixth or more of it to L0-L1. Written down on 2026-11-26, before any run of it.
    """
    silk = _silk(**switches)
    return lambda here: {**silk(here), "floor_bytes_per_s": here.bandwidth * _SILK_FLOOR_PCT // 100}


def _stability(here: Circumstances) -> Parameters:
    return {"file_size_max_bytes": here.size(64 * MIB), "bytes_per_sync": here.size(16 * MIB)}


def _tikv(here: Circumstances) -> Parameters:
    return {"soft_pending_bytes": here.size(192 * GIB), "hard_pending_bytes": here.size(1024 * GIB)}


def _cockroach(here: Circumstances) -> Parameters:
    return {"l0_sublevel_bytes": 5 * MIB // here.scale}


def _tide(here: Circumstances) -> Parameters:
    return {"memory_max_bytes": here.size(_TIDE_MEMORY), "debt_max_bytes": here.size(32 * GIB)}


_SILK_TICK_S = 0.2
_ALL = (
    Scheme("default", "RocksDB as db_bench opens it: 2 background jobs, memtables of 64 MiB"),
    Scheme("default-again", "the same as default, to see how often the report tells a scheme from itself"),
    Scheme(
        "default-with-adoc-memory",
        "default with the largest batch that ADOC may reach, from the open on: what its memory alone brings",
        options=lambda here: batch(here.size(_ADOC_BATCH)),
    ),
    Scheme(
        "default-with-toggle-memory",
        "default with the six memtables of toggle's preparation: what its memory alone brings",
        options=lambda _: {"max_write_buffer_number": _TOGGLE_MEMTABLES},
    ),
    Scheme(
        "default-with-tide-memory",
        "default with tide's memory budget, from the open on: what its memory alone brings",
        options=_tide_memory,
    ),
    Scheme(
        "default-with-tide-limiter",
        "the same with a rate limiter at the device's bandwidth: what tide-limiter has without its law",
        options=_tide_memory,
        limiter=True,
    ),
    Scheme(
        "default-with-silk-p-memory",
        "default with SILK-P's batch: what its memory alone brings",
        options=lambda here: batch(here.size(_SILK_P_BATCH_MIB * MIB)),
    ),
    Scheme("auto-tuned", "RocksDB's own auto-tuned rate limiter (ADOC's RocksDB-AT)", limiter=True, auto_tuned=True),
    Scheme(
        "grid-best", "the best static threads and batch that a grid search found", options=_grid_best, needs_grid=True
    ),
    Scheme(
        "grid-best-within-memory",
        "the best static threads that a grid search found, with the baseline's memory",
        options=_grid_best_within,
        needs_grid_within=True,
    ),
    Scheme("adoc", "ADOC, as in the paper", "adoc", _adoc()),
    Scheme("adoc-threads", "ADOC-T: threads only", "adoc", _adoc(tune_batch=False)),
    Scheme("adoc-batch", "ADOC-B: batch only", "adoc", _adoc(tune_threads=False)),
    Scheme("adoc-released", "ADOC, as in the published code", "adoc-released", _adoc_released),
    Scheme(
        "mimd",
        "RocksDB's auto-tuning of the rate limiter, done by adocd",
        "mimd",
        lambda here: {"max_bytes_per_s": here.bandwidth},
        limiter=True,
    ),
    Scheme(
        "toggle", "switches automatic compaction off during write peaks (Warlo)", "toggle", _toggle, needs_flushing=True
    ),
    Scheme(
        "toggle-without-bounds",
        "toggle as in the thesis: without our bounds, hysteresis and dwell time",
        "toggle",
        _toggle_without_bounds,
        safety=_COMPACTION_OFF_FOR_GOOD,
        needs_flushing=True,
    ),
    Scheme(
        "toggle-two-memtables",
        "toggle within the baseline's memory: two memtables instead of six",
        "toggle",
        lambda here: {**_toggle(here), "memtables": 2},
        needs_flushing=True,
    ),
    Scheme(
        "toggle-residual",
        "the rate limiter at the cap; compactions get what flushes leave (Warlo 5.2)",
        "toggle",
        lambda here: {**_toggle(here), "residual": True},
        limiter=True,
        needs_flushing=True,
    ),
    Scheme(
        "limits-raised",
        "no limits on level-0 files and pending compaction bytes, as toggle, but without its switch (Warlo 4.5)",
        options=_limits_raised,
    ),
    Scheme(
        "compaction-disabled",
        "automatic compaction off, with toggle's memtables and without limits (Warlo 4.3)",
        options=_compaction_disabled,
    ),
    Scheme("silk", "SILK: bandwidth and hold", "silk", _silk(), limiter=True, tick_s=_SILK_TICK_S),
    Scheme("silk-bandwidth", "SILK, bandwidth only", "silk", _silk(hold=False), limiter=True, tick_s=_SILK_TICK_S),
    Scheme(
        "silk-floor",
        "SILK with a floor that flushes what clients write in a peak",
        "silk",
        _silk_floor(),
        limiter=True,
        tick_s=_SILK_TICK_S,
    ),
    Scheme(
        "silk-floor-bandwidth",
        "the same, bandwidth only",
        "silk",
        _silk_floor(hold=False),
        limiter=True,
        tick_s=_SILK_TICK_S,
    ),
    Scheme("silk-hold", "SILK, hold only", "silk", _silk(bandwidth=False), tick_s=_SILK_TICK_S),
    Scheme("stability", "performance stability: a stop, no slowdown", "stability", _stability),
    Scheme(
        "stability-36",
        "the same with default's stop, at 36 files: what figure 12 compares has one component constraint",
        "stability",
        lambda here: {**_stability(here), "stop_factor": _STOP_AT_36},
    ),
    Scheme(
        "spring-and-gear",
        "bLSM's spring and gear, with one gear",
        "spring-and-gear",
        lambda here: {"floor_bytes_per_s": here.size(4 * MIB)},
    ),
    Scheme("speedb", "Speedb's dynamic delay: the rate is what is left before a stop", "speedb"),
    Scheme("tikv", "TiKV's flow controller, on RocksDB's delay", "tikv", _tikv),
    Scheme("cockroach", "CockroachDB's store admission, on RocksDB's delay", "cockroach", _cockroach),
    Scheme("tide", "adocd's own law: floods into level 0, one wide merge, and a slope", "tide", _tide),
    Scheme(
        "tide-limiter",
        "the same with a rate limiter that it turns: merges get what clients leave",
        "tide",
        lambda here: {**_tide(here), "limiter": True},
        limiter=True,
    ),
    Scheme("silk-d", "the ADOC paper's settings SILK-D, without SILK: 2 threads, 64 MiB", options=_silk_preset(2, 64)),
    Scheme(
        "silk-p",
        "the ADOC paper's settings SILK-P, without SILK: 4 threads, 128 MiB",
        options=_silk_preset(4, _SILK_P_BATCH_MIB),
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
#: Those that act in half a minute of random writes, with a twin for each that may use more memory than the baseline
#: (memory.py).
DEFAULT_SCHEMES = (
    BASELINE,
    "default-with-adoc-memory",
    "default-with-tide-memory",
    "auto-tuned",
    "grid-best-within-memory",
    "grid-best",
    "adoc",
    "tide",
)


def scheme(name: str) -> Scheme:
    """Find a scheme by its name; raises BadArgument with the names of all schemes."""
    if name not in SCHEMES:
        raise BadArgument(f"there is no scheme {name!r}: use some of {', '.join(SCHEMES)}")
    return SCHEMES[name]
