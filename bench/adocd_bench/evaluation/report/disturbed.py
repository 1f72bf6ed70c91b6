"""When a run was disturbed: by others, or so that its own counts cannot be trusted. It is marked, never thrown away."""

from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.accounting import own_device_bytes

#: Shares above which a run is marked: of all processors, of the disk's written bytes, of a count.
OTHERS_CPU_MOST, OTHERS_DEVICE_MOST, DISAGREEMENT_MOST = 0.10, 0.05, 0.02

#: The rule, as the report says it.
RULE = (
    f"A run is marked as disturbed when others had more than {100 * OTHERS_CPU_MOST:g} % of all processors, over the "
    "whole run or over its measured phase alone (before 2026-11-27 only the whole is known): other programs, other "
    "guests of the hypervisor (steal), and the kernel, except for the run's own system calls; when "
    f"others wrote more than {100 * OTHERS_DEVICE_MOST:g} % of the disk's bytes, those of all runs that went on at "
    "the same time (before 2026-11-26 only the run's own are known); when its counts by second and "
    f"in all are more than {100 * DISAGREEMENT_MOST:g} % apart, or when its runner noticed something. A drain that was "
    "cut off is no disturbance, or a law's worst repetitions would drop out of its medians: the run counts in the "
    "measures of the phase, and its scheme has no figure and no verdict over run and drain in that block."
)
#: What older runners noticed of a drain that was not reached; `cut_off` says it.
_OF_THE_DRAIN = "not everything was compacted in the end, so how long the drain takes is not known"


def marks(run: RawRun) -> tuple[str, ...]:
    """Say what disturbed a run; nothing where nothing did."""
    noticed = (warning for warning in run.warnings if warning != _OF_THE_DRAIN)
    return tuple(mark for mark in (*by_others(run), _counts(run), *noticed) if mark)


def by_others(run: RawRun) -> tuple[str, ...]:
    """Say what others did that disturbed a run; nothing where they did not."""
    return tuple(mark for mark in (_cpu(run), _cpu_in_phase(run), _device(run)) if mark)


def others_cpu(run: RawRun) -> float:
    """Say which share of all processors others had, the kernel included where its time was recorded."""
    return run.noise.others_cpu_fraction + (run.noise.others_kernel_fraction or 0.0)


def _cpu(run: RawRun) -> str | None:
    share = others_cpu(run)
    return f"others had {100 * share:.0f} % of the processors" if share > OTHERS_CPU_MOST else None


def _cpu_in_phase(run: RawRun) -> str | None:
    """Look at the phase alone: over the whole run, a long drain hides what disturbed it."""
    share = run.noise.measured_others_fraction
    if share is None or share <= OTHERS_CPU_MOST:
        return None
    return f"others had {100 * share:.0f} % of the processors in the measured phase"


def _device(run: RawRun) -> str | None:
    others, own = run.noise.other_device_bytes, own_device_bytes(run.drained or run.at_end)
    if run.noise.bench_device_bytes is not None:
        own = run.noise.bench_device_bytes  # the disk is that of all runs that went on at the same time
    if not others or own is None:
        return None
    share = others / (others + own)
    return f"others wrote {100 * share:.0f} % of the disk's bytes" if share > OTHERS_DEVICE_MOST else None


def _counts(run: RawRun) -> str | None:
    """Compare the operations in all with those by second; the last second may not have been written down."""
    if not run.seconds:
        return None
    in_all = sum(each.count for each in run.operations)
    by_second = [second.writes + second.reads for second in run.seconds]
    apart = abs(sum(by_second) - in_all)
    if apart <= DISAGREEMENT_MOST * in_all + max(by_second):
        return None
    return f"its operations by second come to {sum(by_second)}, in all to {in_all}"
