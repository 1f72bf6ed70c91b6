"""Whether a law's knobs can be turned on a target at all; pure, and asked before a policy is taken and every tick."""

from adocd.controllers.base import Controller
from adocd.daemon.change.translate import BATCH_OPTIONS
from adocd.model.capabilities import ONLY_OBSERVED, Capabilities
from adocd.model.knob import Knob
from adocd.model.sample import Sample
from adocd.model.snapshot import OptionValues
from adocd.model.threads import has_old_options, jobs_allowed


def out_of_reach(controller: Controller, sample: Sample, capabilities: Capabilities) -> str | None:
    """Say in one sentence which knob of the law cannot be turned here, why, and the way out; None when all can."""
    if controller.knobs and not capabilities.can_change:
        return ONLY_OBSERVED
    for knob in sorted(controller.knobs):
        why = _why_not(knob, sample, capabilities)
        if why is not None:
            switch = controller.switches.get(knob)
            return why if switch is None else f"{why}; or leave {knob} alone with {switch}"
    return None


def _why_not(knob: Knob, sample: Sample, capabilities: Capabilities) -> str | None:
    if knob is Knob.BATCH_SIZE:
        missing = [option for option in BATCH_OPTIONS if option not in capabilities.column_family_options]
        return f"this agent cannot change {', '.join(missing)}, which {knob} needs" if missing else None
    return None if sample.threads_by is not None else _why_no_threads(sample.options, capabilities)


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
