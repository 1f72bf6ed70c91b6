"""A knob's present value, and its value before adocd changed anything."""

from adocd.model.knob import KNOBS, Knob
from adocd.model.sample import Sample
from adocd.model.snapshot import OptionValues
from adocd.model.threads import COMPACTION_POOL, FLUSH_POOL, ThreadsBy, threads_now

_POOLS = {Knob.FLUSH_THREADS: FLUSH_POOL, Knob.COMPACTION_THREADS: COMPACTION_POOL}


def value_now(knob: Knob, sample: Sample, column_family: str | None = None) -> int | None:
    """Return a knob's value in its unit; None if it is not reported, or the column family does not exist."""
    if knob is Knob.BACKGROUND_JOBS:
        return sample.background_jobs
    return _read(knob, sample.options, sample.threads_by, column_family)


def owners_value(knob: Knob, sample: Sample, column_family: str | None = None) -> int | None:
    """Return the value that the database's owner has set for a knob.

    That is the value that a restore sets; if it is unknown, because nothing has been changed yet, the present value.
    """
    original = None
    if sample.originals is not None:
        original = _read(knob, sample.originals, sample.threads_by, column_family)
    return value_now(knob, sample, column_family) if original is None else original


def _read(knob: Knob, options: OptionValues, threads_by: ThreadsBy | None, column_family: str | None) -> int | None:
    if knob is Knob.BACKGROUND_JOBS:
        return threads_now(options, threads_by)
    if knob is Knob.RATE_LIMIT:
        return options.rate_limiter_bytes_per_s
    if knob in _POOLS and threads_by is ThreadsBy.POOLS:
        return options.thread_pools.get(_POOLS[knob])
    facts = KNOBS[knob]
    values = (
        options.column_families.get(column_family or "", {}) if facts.scope == "column_family" else options.database
    )
    value = values.get(facts.options[0])
    if value is None:
        return None
    if facts.unit == "percent":
        return round(float(value) * 100)
    return int(value == "false") if facts.unit == "switch" else int(value)
