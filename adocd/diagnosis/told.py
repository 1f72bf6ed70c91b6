"""A diagnosis where no LOG can be read: from an agent's samples and the stalls seen in them.

It has the same figures as one from a LOG, except for those that only a LOG's lines give.
"""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from adocd.diagnosis.around import Surrounded
from adocd.diagnosis.diagnosis import Diagnosis
from adocd.diagnosis.stalls.seen import FOUND_MOST, StallSeen
from adocd.diagnosis.timeline import Timeline
from adocd.model.sample import Sample
from adocd.model.snapshot import Event
from adocd.model.values import Values
from adocd.probes.log.events import (
    CompactionFinished,
    CompactionStarted,
    FlushFinished,
    LevelSummary,
    LogEvent,
    OptionsListed,
)
from adocd.probes.log.stalls import StallFound


class Told:
    """Builds a diagnosis from samples."""

    def __init__(self) -> None:
        self._diagnosis = Diagnosis()
        #: The stalls kept, each with what was found about it.
        self._seen: list[StallSeen] = []
        self._stalls: list[StallFound] = []
        self._values: Values | None = None
        #: What was held by stalls that are not kept any more.
        self._gone = _Added()

    def sampled(
        self, sample: Sample, now_unix_s: float, found: Iterable[StallSeen], rocksdb_version: str | None
    ) -> None:
        """Take a new sample and all stalls found so far, oldest first; `rocksdb_version` is what the agent reports."""
        diagnosis, to_unix_s = self._diagnosis, now_unix_s - sample.monotonic_s
        diagnosis.rocksdb_version = rocksdb_version
        diagnosis.covers(now_unix_s - sample.interval_s, now_unix_s)
        if sample.values != self._values:
            self._values = sample.values
            diagnosis.learn(OptionsListed(now_unix_s, None, sample.options.database))
            diagnosis.learn(limiter_of(sample, now_unix_s))
            for family, values in sample.options.column_families.items():
                diagnosis.learn(OptionsListed(now_unix_s, family, values))
        for cf in sample.column_families:
            pending_bytes = None if "pending_compaction_bytes" in cf.unknown else cf.pending_compaction_bytes
            diagnosis.learn(LevelSummary(now_unix_s, cf.name, cf.level_files, None, pending_bytes))
        for event in sample.events:
            if (told := _as_log_event(event, to_unix_s)) is not None:
                diagnosis.add(told)
        self._take(list(found))

    def counted(self, session: str, time_s: float, waited_s: float) -> None:
        """Take the agent's counter of writers' waits at this time: seconds since the session's open."""
        self._diagnosis.counted(session, time_s, waited_s)

    def _take(self, found: list[StallSeen]) -> None:
        """Keep exactly the stalls found: the LOG's word may have replaced a guess."""
        if len(found) == len(self._seen) and (not found or found[-1] is self._seen[-1]):
            return
        # Mostly the newest are new and the oldest drop out: with a thousand kept, looking each up would cost the most.
        kept = self._kept_of(found)
        if kept is not None:
            self._drop(len(self._stalls) - kept)
            self._stalls = self._stalls[-kept:] + [self._diagnosis.found(seen) for seen in found[kept:]]
        else:
            ids = set(map(id, found))
            self._drop(next((at for at, seen in enumerate(self._seen) if id(seen) in ids), 0))
            known = dict(zip(map(id, self._seen), self._stalls, strict=True))
            self._stalls = [known.get(id(seen)) or self._diagnosis.found(seen) for seen in found]
        self._seen = found

    def _drop(self, oldest: int) -> None:
        """Note so many stalls that are not kept any more: what they held counts all the same."""
        for stall in self._stalls[:oldest]:
            self._gone.add(stall, self._diagnosis.begin_s or 0.0)

    def _kept_of(self, found: list[StallSeen]) -> int | None:
        """Count the leading stalls that were known before; None where something else has changed."""
        last = self._seen[-1] if self._seen else None
        kept = next((at + 1 for at in reversed(range(len(found))) if found[at] is last), None)
        return kept if kept is not None and self._seen[-kept:] == found[:kept] else None

    def summary(self, surrounded: Surrounded | None) -> dict[str, Any]:
        """Return the diagnosis in the form of Diagnosis.summary, which lists the last 1000 stalls.

        A LOG of warnings may show stalls from before the agent was there; they are not of the time that it tells of.
        """
        added, stalls = copy.deepcopy(self._gone), list[StallFound]()
        if (begin_s := self._diagnosis.begin_s) is not None:
            added.held.begin(begin_s)
            stalls = [_from(begin_s, stall) for stall in self._stalls if stall.end_s > begin_s]
            for stall in sorted(stalls, key=lambda each: each.end_s):
                added.add(stall, begin_s)
        return self._diagnosis.summary(stalls=(stalls, added.held), surrounded=surrounded)


def limiter_of(sample: Sample, now_unix_s: float) -> OptionsListed:
    """Return the rate limiter's rate, which no LOG shows; an empty one where there is no limiter."""
    rate = sample.options.rate_limiter_bytes_per_s
    return OptionsListed(now_unix_s, None, {"rate_limiter_bytes_per_s": "" if rate is None else str(rate)})


def _from(begin_s: float, stall: StallFound) -> StallFound:
    """Leave out what a stall held before this time."""
    if stall.begin_s >= begin_s:
        return stall
    share = (stall.end_s - begin_s) / (stall.end_s - stall.begin_s)
    return replace(stall, begin_s=begin_s, stalled_s=stall.stalled_s * share)


class _Added:
    """Adds up how long each cause held, and how long any did; column families held at once count once."""

    def __init__(self) -> None:
        self.held = Timeline()
        #: By name the last times that are added already, none of which overlaps another, in their order.
        self._spans: dict[str, list[tuple[float, float]]] = {}

    def add(self, stall: StallFound, begin_s: float) -> None:
        """Add the part of a stall from this time on; stalls come about in the order of their ends."""
        self.held.begin(begin_s)
        if stall.end_s <= begin_s:
            return
        stall = _from(begin_s, stall)
        for name in (stall.cause, "any"):
            spans = self._spans.setdefault(name, [])
            at = len(spans)
            while at and spans[at - 1][1] > stall.begin_s:
                at -= 1
            begin_s, until_s = stall.begin_s, stall.begin_s
            for known_begin_s, known_end_s in spans[at:]:
                if known_begin_s > until_s:
                    self.held.add(until_s, min(known_begin_s, stall.end_s), (name,))
                begin_s, until_s = min(begin_s, known_begin_s), max(until_s, known_end_s)
            if stall.end_s > until_s:
                self.held.add(until_s, stall.end_s, (name,))
            spans[at:] = [(begin_s, max(until_s, stall.end_s))]
            del spans[:-FOUND_MOST]


def _as_log_event(event: Event, to_unix_s: float) -> LogEvent | None:
    """Translate an agent's event into the LOG's; None for one that a diagnosis does not use."""
    time_s, job, family = event.monotonic_s + to_unix_s, event.job, event.column_family
    fields: Mapping[str, object] = {}
    if event.kind == "flush_end":
        return FlushFinished(
            time_s, job, family, damaged=False, fields=fields, level_files=(), immutable_memtables=None,
            written_bytes=event.bytes, elapsed_s=event.elapsed_s,
        )  # fmt: skip
    if event.kind == "compaction_begin":
        return CompactionStarted(
            time_s, job, family, damaged=False, fields=fields, reason=event.reason, score=None, input_files={},
            input_bytes=None,
        )  # fmt: skip
    if event.kind == "compaction_end":
        return CompactionFinished(
            time_s, job, family, damaged=False, fields=fields, output_level=event.output_level, output_files=None,
            written_bytes=event.written_bytes, input_bytes=event.read_bytes, input_records=None, output_records=None,
            elapsed_s=event.elapsed_s, cpu_s=None, level_files=(),
        )  # fmt: skip
    return None
