"""EVENT_LOG_v1 lines (logging/event_logger.h): JSON written without escaping, one object per line.

Objects differ between versions in their members, but a member never changes its meaning. So each member is read if it
is there, and any may be missing.
"""

import re
from collections.abc import Callable, Mapping

from pydantic_core import from_json

from adocd.probes.log.events import (
    CompactionFinished,
    CompactionStarted,
    FlushFinished,
    FlushStarted,
    JobEvent,
    OtherJobEvent,
    TableFileCreated,
    TableFileDeleted,
    TrivialMove,
)
from adocd.probes.log.jobs import Jobs, Part
from adocd.probes.log.lines import GLUED, text

#: Figures have at most 64 bits; a larger one is damaged, and a float could not hold it.
_FIGURE_MOST = 1 << 64
_INTEGER = frozenset((int,))
_BEGINNING = b'{"time_micros"'
#: Complete pairs: both the name and the end of the value are there.
_PAIR = re.compile(
    rb'"([A-Za-z_0-9]{1,64})": ?(?:(-?\d{1,20})|"([^"\\]{0,4096})"|\[(\d{1,20}(?:, ?\d{1,20})*)?\])(?=[,}])'
)


class EventLog:
    """Reads the JSON of EVENT_LOG_v1 lines."""

    def __init__(self) -> None:
        self.jobs = Jobs()

    def read(self, payload: bytes) -> JobEvent | None:
        """Make an event from the JSON; None if even its name or time is missing."""
        damaged = False
        try:
            fields = from_json(payload)
        except (ValueError, RecursionError):
            fields, damaged = _saved(payload), True
        if not isinstance(fields, dict):
            return None
        name, micros = fields.get("event"), _figure(fields, "time_micros")
        if not isinstance(name, str) or micros is None:
            return None
        job = _figure(fields, "job")
        family = fields.get("cf_name")
        if not isinstance(family, str):
            known = self.jobs.current(job)
            family = known.column_family if known is not None else None
        made = _MADE_BY.get(name)
        if made is None:
            return OtherJobEvent(micros / 1e6, job, family, damaged, fields, name)
        return made(self, micros / 1e6, job, family, damaged, fields)

    def _flush_started(
        self, time_s: float, job: int | None, family: str | None, damaged: bool, fields: Mapping[str, object]
    ) -> FlushStarted:
        self.jobs.begin(job, family, time_s)
        return FlushStarted(
            time_s,
            job,
            family,
            damaged,
            fields,
            reason=_word(fields, "flush_reason"),
            memtables=_figure(fields, "num_memtables"),
            entries=_figure(fields, "num_entries"),
            deletes=_figure(fields, "num_deletes"),
            data_bytes=_figure(fields, "total_data_size"),
            memory_bytes=_figure(fields, "memory_usage"),
        )

    def _flush_finished(
        self, time_s: float, job: int | None, family: str | None, damaged: bool, fields: Mapping[str, object]
    ) -> FlushFinished:
        done = self.jobs.end(job)
        if done is not None:
            family = _word(fields, "cf_name") or done.column_family
        return FlushFinished(
            time_s,
            job,
            family,
            damaged,
            fields,
            level_files=_figures(fields, "lsm_state"),
            immutable_memtables=_figure(fields, "immutable_memtables"),
            written_bytes=None if done is None or done.started_s is None else done.written_bytes,
            elapsed_s=_since(done, time_s),
        )

    def _compaction_started(
        self, time_s: float, job: int | None, family: str | None, damaged: bool, fields: Mapping[str, object]
    ) -> CompactionStarted:
        input_bytes = _figure(fields, "input_data_size")
        self.jobs.begin(job, family, time_s).input_bytes = input_bytes
        score = fields.get("score")
        return CompactionStarted(
            time_s,
            job,
            family,
            damaged,
            fields,
            reason=_word(fields, "compaction_reason"),
            score=float(score) if isinstance(score, int | float) and abs(score) < _FIGURE_MOST else None,
            input_files={
                int(name[7:]): len(files)
                for name, files in fields.items()
                if name.startswith("files_L") and len(name) < 10 and name[7:].isdecimal() and isinstance(files, list)
            },
            input_bytes=input_bytes,
        )

    def _compaction_finished(
        self, time_s: float, job: int | None, family: str | None, damaged: bool, fields: Mapping[str, object]
    ) -> CompactionFinished:
        done = self.jobs.end(job)
        return CompactionFinished(
            time_s,
            job,
            family,
            damaged,
            fields,
            output_level=_figure(fields, "output_level"),
            output_files=_figure(fields, "num_output_files"),
            written_bytes=_sum(_figure(fields, "total_output_size"), _figure(fields, "total_blob_output_size")),
            input_bytes=done.input_bytes if done is not None else None,
            input_records=_figure(fields, "num_input_records"),
            output_records=_figure(fields, "num_output_records"),
            elapsed_s=_seconds(_figure(fields, "compaction_time_micros")),
            cpu_s=_seconds(_figure(fields, "compaction_time_cpu_micros")),
            level_files=_figures(fields, "lsm_state"),
        )

    def _created(
        self, time_s: float, job: int | None, family: str | None, damaged: bool, fields: Mapping[str, object]
    ) -> TableFileCreated:
        size_bytes = _figure(fields, "file_size")
        self.jobs.wrote(job, size_bytes)
        return TableFileCreated(time_s, job, family, damaged, fields, _figure(fields, "file_number"), size_bytes)

    def _blob_file_created(
        self, time_s: float, job: int | None, family: str | None, damaged: bool, fields: Mapping[str, object]
    ) -> OtherJobEvent:
        self.jobs.wrote(job, _figure(fields, "total_blob_bytes"))
        return OtherJobEvent(time_s, job, family, damaged, fields, "blob_file_creation")

    def _deleted(
        self, time_s: float, job: int | None, family: str | None, damaged: bool, fields: Mapping[str, object]
    ) -> TableFileDeleted:
        return TableFileDeleted(time_s, job, family, damaged, fields, _figure(fields, "file_number"))

    def _moved(
        self, time_s: float, job: int | None, family: str | None, damaged: bool, fields: Mapping[str, object]
    ) -> TrivialMove:
        return TrivialMove(
            time_s,
            job,
            family,
            damaged,
            fields,
            output_level=_figure(fields, "destination_level"),
            files=_figure(fields, "files"),
            size_bytes=_figure(fields, "total_files_size"),
        )


_Maker = Callable[[EventLog, float, int | None, str | None, bool, Mapping[str, object]], JobEvent]
_MADE_BY: dict[str, _Maker] = {
    "flush_started": EventLog._flush_started,
    "flush_finished": EventLog._flush_finished,
    "compaction_started": EventLog._compaction_started,
    "compaction_finished": EventLog._compaction_finished,
    "table_file_creation": EventLog._created,
    "blob_file_creation": EventLog._blob_file_created,
    "table_file_deletion": EventLog._deleted,
    "trivial_move": EventLog._moved,
}


def _saved(payload: bytes) -> dict[str, object] | None:
    """Save the complete pairs from JSON that was cut, or that another thread's line interrupted.

    RocksDB cuts what is longer than its buffer, and does not escape quotation marks in a column family's name. Of two
    objects in one line, only the last is certain to be in one piece.
    """
    glued = GLUED.search(payload)
    if glued is not None:
        payload = payload[: glued.start()]
    last = payload.rfind(_BEGINNING)
    if last < 0:
        return None
    if last > 0:
        try:
            whole = from_json(payload[last:])
        except (ValueError, RecursionError):
            pass
        else:
            return whole if isinstance(whole, dict) else None
    fields: dict[str, object] = {}
    for name, number, word, numbers in _PAIR.findall(payload, last):
        value: object
        if number:
            value = int(number)
        elif numbers:
            value = [int(each) for each in numbers.split(b",")]
        else:
            value = text(word)
        fields.setdefault(name.decode("ascii"), value)
    return fields


def _figure(fields: Mapping[str, object], name: str) -> int | None:
    value = fields.get(name)
    return value if type(value) is int and 0 <= value < _FIGURE_MOST else None


def _figures(fields: Mapping[str, object], name: str) -> tuple[int, ...]:
    value = fields.get(name)
    if not isinstance(value, list) or not _INTEGER.issuperset(map(type, value)):
        return ()
    return tuple(value)


def _word(fields: Mapping[str, object], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None else one + (other or 0)


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6


def _since(job: Part | None, time_s: float) -> float | None:
    """Seconds since a job's start; never negative, although the wall clock may be set back."""
    return None if job is None or job.started_s is None else max(0.0, time_s - job.started_s)
