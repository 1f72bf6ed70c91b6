"""Writes a recording; what seldom changes is written only when it has changed."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from adocd.model.decision_record import DecisionRecord
from adocd.model.snapshot import OptionValues, Snapshot
from adocd.recording.format import (
    ABOUT,
    DECISION,
    GAP,
    HEADER,
    OPTIONS,
    RULE,
    SNAPSHOT,
    About,
    Gap,
    RecordingHeader,
    Rule,
    Seen,
)
from adocd.recording.lines import LineFile

_NO_OPTIONS = OptionValues()


class Recorder:
    """A recording in progress. Every method raises NotReplayable if the file cannot be written."""

    def __init__(self, file: LineFile, header: RecordingHeader) -> None:
        self.file = file
        self.snapshots = 0
        self.missed = 0
        self.has_ended = False
        self._has_begun = False
        self._about: tuple[int, About | None] = (0, None)
        self._options: tuple[int, OptionValues | None] = (0, None)
        self._rule: Rule | None = None
        self._state: str | None = None
        self._look: int | None = None
        #: The last decisions, as they were written.
        self._decisions: dict[int, DecisionRecord] = {}
        file.write(HEADER.dump_json(header))

    def seen(self, seen: Seen, unix_s: float) -> None:
        """Write what the daemon gave last, unless it is already written."""
        if not self._has_begun:  # decisions that had ended before are not of this recording
            self._has_begun = True
            ended = [each for each in seen.decisions if each.outcome != "in-flight" and each.unix_s < unix_s]
            self._decisions = {each.sequence: each for each in ended}
        self.rule(seen.rule)
        if seen.state != self._state:
            self._state = seen.state
            self._write("state", None, seen.state, unix_s=unix_s)
        if seen.about is not None and seen.snapshot is not None and seen.look != self._look:
            self._see_gap(seen.look)
            self._look = seen.look
            self.about(seen.about)
            self.snapshot(seen.snapshot, unix_s)
        self.decisions(seen.decisions)
        self.file.flush()

    @property
    def last_look(self) -> int:
        """The number of the daemon's last look that is in the file; 0: none."""
        return self._look or 0

    def about(self, about: About) -> None:
        """Write the open of the database to which the next snapshots belong."""
        number, last = self._about
        if about != last:
            self._about = number + 1, about
            self._write("about", ABOUT, about, number=number + 1)

    def rule(self, rule: Rule) -> None:
        """Write the policy that is in force from now on."""
        if rule != self._rule:
            self._rule = rule
            self._write("rule", RULE, rule)

    def snapshot(self, snapshot: Snapshot, unix_s: float) -> None:
        """Write a snapshot; `about` must have been called before."""
        number, last = self._options
        if snapshot.options != last:
            number += 1
            self._options = number, snapshot.options
            self._write("options", OPTIONS, snapshot.options, number=number)
        self.snapshots += 1
        shown = replace(snapshot, options=_NO_OPTIONS)
        self._write("snapshot", SNAPSHOT, shown, unix_s=unix_s, about=self._about[0], options=number)

    def decisions(self, records: Iterable[DecisionRecord]) -> None:
        """Write new decisions, and those with a new outcome."""
        now = {record.sequence: record for record in records}
        for sequence, record in now.items():
            if self._decisions.get(sequence) != record:
                self._write("decision", DECISION, record)
        self._decisions = now

    def end(self, why: str) -> None:
        """Write why the recording ends, and close the file."""
        self._write("end", None, why)
        self.close()

    def close(self) -> None:
        """Close the file; without `end`, the recording does not say why it ends."""
        self.has_ended = True
        self.file.close()

    def _see_gap(self, look: int) -> None:
        if self._look is None or look == self._look + 1:
            return
        # If the count goes back, it is another daemon's.
        missed = look - self._look - 1 if look > self._look else None
        self.missed += missed or 0
        self._write("gap", GAP, Gap(missed))

    def _write(self, kind: str, adapter: TypeAdapter[Any] | None, content: object, **beside: object) -> None:
        shown = to_json(content) if adapter is None else adapter.dump_json(content)
        first = to_json({"kind": kind, **beside})
        self.file.write(first[:-1] + b',"content":' + shown + b"}")
