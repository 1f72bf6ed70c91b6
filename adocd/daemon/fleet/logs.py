"""The log on standard error: plain text for people, or one JSON object per line for log collectors."""

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Literal

from adocd.daemon.control.log_context import ABOUT
from adocd.model.printable import printable

Format = Literal["text", "json"]
#: syslog(3) levels, which systemd reads as a prefix of each line (sd-daemon(3)).
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}
#: Fields that a line may have besides its message (logging's `extra`).
_EXTRA = ("rule", "outcome", "sequence")


class TextFormatter(logging.Formatter):
    """Plain text; under systemd with a priority per line and without the time, which systemd's journal adds."""

    def __init__(self, *, for_journal: bool) -> None:
        super().__init__("%(message)s" if for_journal else "%(asctime)s %(levelname)s %(message)s")
        self._for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        """Format a record: its message on one line, and below it, indented, the exception if there is one.

        The indentation keeps foreign text from posing as a log line of ours. Every line has the priority, because
        systemd's journal makes an entry of each.
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
    """One JSON object per line: time (RFC 3339, UTC), level, logger, message and any extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line of JSON."""
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
    """Escape a terminal control character; in JSON such characters occur only within strings."""
    return character if character.isprintable() else json.dumps(character)[1:-1]


def to_stderr(wanted: Format, *, verbose: bool = False) -> None:
    """Write the log of this process to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if wanted == "json" else TextFormatter(for_journal=_is_journal()))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler], force=True)
    for library in ("uvicorn", "asyncio"):
        logging.getLogger(library).setLevel(logging.WARNING)


def _is_journal() -> bool:
    """Whether standard error goes to systemd's journal (systemd.exec(5), JOURNAL_STREAM)."""
    try:
        found = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):  # closed, or not a file
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
