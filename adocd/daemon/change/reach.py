"""Whether a law can work on a target at all. Pure; checked before a policy is applied and in every tick."""

from collections.abc import Iterator
from dataclasses import replace

from adocd.controllers.base import Controller, Needs
from adocd.model.capabilities import ONLY_OBSERVED, Capabilities
from adocd.model.knob import KNOBS, Knob
from adocd.model.options import LEVEL_COMPACTION
from adocd.model.sample import Sample
from adocd.model.snapshot import OptionValues
from adocd.model.threads import COMPACTION_POOL, FLUSH_POOL, has_old_options, jobs_allowed, threads_by
from adocd.model.values import Values, nested

_POOLS = {Knob.FLUSH_THREADS: FLUSH_POOL, Knob.COMPACTION_THREADS: COMPACTION_POOL}
#: A law that could work goes on for so long without a figure that it needs, in s: to give everything back in the middle
#: of a flood, for one look that lacked it, and to set it again after the next, harms more than to decide without it.
_MISSED_FOR_S = 60.0


class Reach:
    """Whether a law can go on working on a target, from look to look."""

    def __init__(self) -> None:
        #: When nothing was lacking last, in the samples' time; None if that never was.
        self._met_s: float | None = None

    def lack(self, controller: Controller, sample: Sample, capabilities: Capabilities) -> str | None:
        """Return what the law needs and lacks, as `out_of_reach` does; None while a figure is missing for a moment."""
        why = _unturnable(controller, sample, capabilities)
        if why is not None:
            return why
        unmet = next(_unmet(controller.needs, sample, capabilities), None)
        if unmet is None:
            self._met_s = sample.monotonic_s
        elif self._met_s is not None and sample.monotonic_s - self._met_s < _MISSED_FOR_S:
            return None
        return unmet


def out_of_reach(controller: Controller, sample: Sample, capabilities: Capabilities) -> str | None:
    """Return, in one sentence, what the law needs and lacks here, why, and the remedy; None if it lacks nothing."""
    return Reach().lack(controller, sample, capabilities)


def _unturnable(controller: Controller, sample: Sample, capabilities: Capabilities) -> str | None:
    if controller.knobs and not capabilities.can_change:
        return ONLY_OBSERVED
    for knob in sorted(controller.knobs - controller.optional_knobs):
        why = why_not(knob, sample, capabilities)
        if why is not None:
            switch = controller.switches.get(knob)
            return why if switch is None else f"{why}; or leave {knob} alone with {switch}"
    return None


def without_ours(sample: Sample, baseline: Values, capabilities: Capabilities) -> Sample:
    """Return the sample with all originals in place, because another law starts from those."""
    options = nested({**sample.values, **{o: v for o, v in baseline.items() if o in sample.values}})
    return replace(sample, options=options, threads_by=threads_by(options, capabilities))


def why_not(knob: Knob, sample: Sample, capabilities: Capabilities) -> str | None:
    """Return why a knob cannot be turned here, in one sentence; None when it can."""
    if knob is Knob.BACKGROUND_JOBS:
        return None if sample.threads_by is not None else _why_no_threads(sample.options, capabilities)
    if knob is Knob.RATE_LIMIT:
        return _why_no_limiter(sample, capabilities)
    facts = KNOBS[knob]
    if knob in _POOLS and not capabilities.database_options and _POOLS[knob] in capabilities.thread_pools:
        return None
    can = capabilities.column_family_options if facts.scope == "column_family" else capabilities.database_options
    missing = [option for option in facts.options if option not in can]
    if missing:
        return f"this agent cannot change {', '.join(missing)}, which {knob} needs"
    return None


def _why_no_limiter(sample: Sample, capabilities: Capabilities) -> str | None:
    if capabilities.rate_limiter and sample.options.rate_limiter_bytes_per_s is not None:
        return None
    return (
        "there is no rate limiter here that this agent can change, and none can be added later: open the database "
        "with one, or start its program by `adocd exec --rate-limiter BYTES_PER_S`"
    )


def _unmet(needs: Needs, sample: Sample, capabilities: Capabilities) -> Iterator[str]:
    for ticker in needs.tickers:
        if sample.ticker_increases is None:
            yield (
                f"the ticker {ticker} is needed, and the database was opened without Statistics: open it with them, or "
                "start its program by `adocd exec --statistics tickers`"
            )
        elif ticker not in sample.ticker_increases:
            yield f"the ticker {ticker} is needed, and this database's Statistics do not have it"
    for event in needs.events:
        if event not in capabilities.events:
            yield f"this agent does not report {event} events, which the law needs"
    if needs.level_bytes and any(cf.level_bytes is None for cf in sample.column_families):
        yield "this agent does not report the bytes of each level, which the law needs"
    rates = (sample.flush_written_bytes_per_s, sample.compaction_written_bytes_per_s)
    if needs.background_rates and None in rates:
        yield (
            "this agent does not report what flushes and compactions write, which the law needs: open the database "
            "with Statistics"
        )
    for family in sample.options.column_families if needs.level_compaction else ():
        style = sample.options.compaction_style(family)
        if style != LEVEL_COMPACTION:
            yield f"column family {family} has {style}, and the law is for level compaction alone"


def _why_no_threads(options: OptionValues, capabilities: Capabilities) -> str:
    if "max_background_jobs" in capabilities.database_options:
        return (
            "max_background_jobs has no effect, because max_background_flushes or max_background_compactions is set: "
            "unset those two"
            if has_old_options(options)
            else "the agent does not report max_background_jobs"
        )
    if not capabilities.thread_pools:
        return "this agent can change neither max_background_jobs nor the thread pools"
    return (
        "this agent cannot change max_background_jobs, and its thread pools do nothing beyond the "
        f"{jobs_allowed(options)} jobs that the database was opened with: open it with a larger max_background_jobs"
    )
