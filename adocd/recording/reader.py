"""Reads a recording, including the usable part of a damaged one."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from adocd.model.decision_record import DecisionRecord
from adocd.model.snapshot import OptionValues
from adocd.recording.format import (
    ABOUT,
    DECISION,
    FORMAT,
    GAP,
    HEADER,
    OPTIONS,
    RULE,
    SNAPSHOT,
    VERSION,
    About,
    Gap,
    Look,
    NotReplayable,
    RecordingHeader,
    Rule,
)
from adocd.recording.lines import read_lines

_T = TypeVar("_T")
Entry = Look | Gap | Rule | DecisionRecord


class _Damaged(Exception):
    """A line is unusable, or refers to an unusable line."""


class Recording:
    """One file: iterate over it once; the counts are complete at the end."""

    def __init__(self, path: Path) -> None:
        """Read the header. Raises NotReplayable; so does iterating if the disk fails."""
        self.path = path
        #: Number of unusable lines: they are damaged, or refer to a damaged one.
        self.damaged_lines = 0
        #: Whether the last line is incomplete: the recorder was killed, or the disk was full.
        self.torn = False
        #: Why it ends, as the recorder wrote it; None if the recorder wrote no end.
        self.ended: str | None = None
        self._lines = read_lines(path)
        self.header = self._read_header()
        #: The open that the next snapshots belong to, with its number.
        self._about: tuple[int, About] | None = None
        self._options: tuple[int, OptionValues] | None = None
        self._read: dict[str, Callable[[dict[str, Any]], Entry | None]] = {
            "about": self._take_about,
            "options": self._take_options,
            "snapshot": self._snapshot,
            "rule": lambda line: _parsed(RULE, line),
            "gap": lambda line: _parsed(GAP, line),
            "decision": lambda line: _parsed(DECISION, line),
            "end": self._end,
        }

    def __iter__(self) -> Iterator[Entry]:
        """Yield its entries in order."""
        for line, is_whole in self._lines:
            try:
                entry = self._entry(line)
            except _Damaged:
                if is_whole:
                    self.damaged_lines += 1
                else:
                    self.torn = True
                continue
            if entry is not None:
                yield entry

    def _read_header(self) -> RecordingHeader:
        line, _ = next(self._lines, (b"", False))
        if not line:
            raise NotReplayable(f"{self.path} is empty: nothing was recorded")
        content = _object(line)
        if content is None or content.get("format") != FORMAT:
            raise NotReplayable(f"{self.path} is no recording of adocd's: `adocctl record` makes them")
        if content.get("version") != VERSION:
            raise NotReplayable(
                f"{self.path} is a recording of format version {content.get('version')}, and this adocd reads "
                f"{VERSION}: replay it by the adocd that made it"
            )
        try:
            return HEADER.validate_python(content)
        except ValidationError:
            raise NotReplayable(
                f"{self.path} is a recording with a damaged first line, so nothing can be had of it"
            ) from None

    def _entry(self, line: bytes) -> Entry | None:
        content = _object(line)
        if content is None or not isinstance(kind := content.get("kind"), str):
            raise _Damaged
        read = self._read.get(kind)
        return None if read is None else read(content)  # ignore kinds of lines from later versions

    def _take_about(self, line: dict[str, Any]) -> None:
        self._about = _number(line, "number"), _parsed(ABOUT, line)

    def _take_options(self, line: dict[str, Any]) -> None:
        self._options = _number(line, "number"), _parsed(OPTIONS, line)

    def _snapshot(self, line: dict[str, Any]) -> Look:
        snapshot, unix_s = _parsed(SNAPSHOT, line), line.get("unix_s")
        about = _of_number(self._about, _number(line, "about"))
        options = _of_number(self._options, _number(line, "options"))
        if not isinstance(unix_s, int | float):
            raise _Damaged
        return Look(replace(snapshot, options=options), float(unix_s), about)

    def _end(self, line: dict[str, Any]) -> None:
        self.ended = str(line.get("content"))


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        content = from_json(line, allow_inf_nan=False)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _parsed(adapter: TypeAdapter[_T], line: dict[str, Any]) -> _T:
    try:
        return adapter.validate_python(line.get("content"))
    except ValidationError:
        raise _Damaged from None


def _number(line: dict[str, Any], member: str) -> int:
    if not isinstance(number := line.get(member), int):
        raise _Damaged
    return number


def _of_number(numbered: tuple[int, _T] | None, number: int) -> _T:
    if numbered is None or numbered[0] != number:
        raise _Damaged
    return numbered[1]
