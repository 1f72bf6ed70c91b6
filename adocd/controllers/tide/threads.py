"""Flush slots, the width of merges and what these read ahead: of the database, in a flood and otherwise. Pure."""

from collections.abc import Iterator

from adocd.controllers.tide.parameters import TideParameters
from adocd.model.decision import Setting
from adocd.model.knob import Knob
from adocd.model.reading import owners_value
from adocd.model.sample import Sample

THREADS = (Knob.BACKGROUND_JOBS, Knob.SUBCOMPACTIONS, Knob.COMPACTION_READAHEAD)
#: Of the memory budget, what the readahead of a merge may take; and the least readahead that is set, in bytes.
_READAHEAD_SHARE, _READAHEAD_LEAST = 4, 64 << 10


def owners_threads(sample: Sample) -> Iterator[Setting]:
    """Give the owner's back."""
    for knob in THREADS:
        if (value := owners_value(knob, sample)) is not None:
            yield Setting(knob, value)


def flood_threads(
    sample: Sample, parameters: TideParameters, *, slots: int, width: int, files: int, is_owners: bool
) -> Iterator[Setting]:
    """Take so many flush slots, and merges as wide as that, of up to so many files of level 0.

    `is_owners`: jobs are the owner's, because more would take the device from reads or from a neighbour.
    """
    # What the owner had is not known everywhere, and what cannot be given back is not taken.
    if (jobs := owners_value(Knob.BACKGROUND_JOBS, sample)) is not None:
        most = sample.background_jobs_max or 4 * slots
        yield Setting(Knob.BACKGROUND_JOBS, jobs if is_owners else max(jobs, min(4 * slots, most)))
    if (owners := owners_value(Knob.SUBCOMPACTIONS, sample)) is not None:
        width = max(owners, width)
        yield Setting(Knob.SUBCOMPACTIONS, width)
    if (readahead := owners_value(Knob.COMPACTION_READAHEAD, sample)) is not None:
        inputs = width * min(files, parameters.files_max)
        fits = max(_READAHEAD_LEAST, parameters.memory_max_bytes // _READAHEAD_SHARE // inputs)
        yield Setting(Knob.COMPACTION_READAHEAD, min(readahead, fits))
