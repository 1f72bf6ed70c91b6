"""The log on standard error: lines for a person, or one JSON object a line for whoever collects them."""

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Literal

from adocd.daemon.control.log_context import ABOUT
from adocd.model.printable import printable

Format = Literal["text", "json"]
#: syslog(3)'s levels, as systemd reads them before a line (sd-daemon(3)).
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}
#: What a line may say beside its message (logging's `extra`).
_EXTRA = ("rule", "outcome", "sequence")


class TextFormatter(logging.Formatter):
    """For a person; under systemd with each line's priority, and without the time, which the journal has."""

    def __init__(self, *, for_journal: bool) -> None:
        super().__init__("%(message)s" if for_journal else "%(asctime)s %(levelname)s %(message)s")
        self._for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        """Make the lines of a record: its message in one, and indented below it what was raised, if anything was.

        So no line looks like one of ours that is not. Each has the priority, for to the journal each is an entry.
        """
        record.message = record.getMessage()
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        lines = [printable(self.formatMessage(record))]
        for more in (self.formatException(record.exc_info) if record.exc_info else "", record.stack_info or ""):
            lines += [f"  {printable(line)}" for line in more.split("\n") if line]
        if not self._for_journal:
            return "\n".join(lines)
        priority = _PRIORITIES.get(record.levelno, 6)
        return "\n".join(f"<{priority}>{line}" for line in lines)


class JsonFormatter(logging.Formatter):
    """One object a line: time (RFC 3339, UTC), level, logger, message, and what is known beside them."""

    def format(self, record: logging.LogRecord) -> str:
        """Make the line of a record."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (about := ABOUT.get()) is not None:
            line |= {"target": about.target, "path": about.path}
        line |= {name: value for name in _EXTRA if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return "".join(map(_as_json, json.dumps(line, ensure_ascii=False, default=str)))


def _as_json(character: str) -> str:
    """Escape what would steer a terminal; only within a text can there be any."""
    return character if character.isprintable() else json.dumps(character)[1:-1]


def to_stderr(wanted: Format, *, verbose: bool = False) -> None:
    """Write the log of this process to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if wanted == "json" else TextFormatter(for_journal=_is_journal()))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler], force=True)
    for library in ("uvicorn", "asyncio"):
        logging.getLogger(library).setLevel(logging.WARNING)


def _is_journal() -> bool:
    """Whether standard error is what systemd says is its journal (systemd.exec(5), JOURNAL_STREAM)."""
    try:
        found = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):  # closed, or no file
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
