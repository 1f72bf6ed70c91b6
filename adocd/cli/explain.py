"""`adocctl explain`: a diagnosis from a LOG alone, without daemon or agent."""

from pathlib import Path
from typing import Annotated, Any

import typer

from adocd.cli import show, show_explain
from adocd.cli.exits import Exit, fail
from adocd.cli.target import Json


def explain(
    log: Annotated[
        Path,
        typer.Argument(metavar="LOG_FILE", help="A RocksDB LOG, or a database's directory: its LOG and rotated ones."),
    ],
    as_json: Json = False,
) -> None:
    """Say from a RocksDB LOG what stalled, for how long, when, why, and what would likely help.

    Needs no daemon and no agent, and changes nothing.
    """
    show.json_or(as_json, diagnosis(log), show_explain.diagnosis)


def diagnosis(path: Path) -> dict[str, Any]:
    """Read a LOG, or a directory's; fails with one sentence where there is none."""
    # Only here: the LOG's parser would be a part of the time that every other command takes to start.
    from adocd.diagnosis import Diagnosis  # noqa: PLC0415
    from adocd.probes.log import LogParser, read_log  # noqa: PLC0415

    log = _log(path)
    parser, found = LogParser(), Diagnosis()
    try:
        for event in read_log(log, rotated=path.is_dir(), parser=parser):
            found.add(event)
    except OSError as error:
        fail(f"{log} cannot be read: {error.strerror}", Exit.FAILED)
    found.end()
    if not parser.lines:
        fail(f"{log} is empty", Exit.FAILED)
    if not found.events:
        fail(f"{log} is not a RocksDB LOG: nothing in it reads like one", Exit.FAILED)
    return {"path": str(log)} | found.summary(lines=parser.lines, unread=parser.unread)


def _log(path: Path) -> Path:
    try:
        if path.is_dir():
            log = path / "LOG"
            if not log.exists():
                fail(f"{path} is not a database's directory: there is no LOG in it", Exit.NO_TARGET)
            return log
        if not path.exists():
            fail(f"there is no file {path}", Exit.NO_TARGET)
        if not path.is_file():
            fail(f"{path} is neither a file nor a directory", Exit.FAILED)
    except OSError as error:
        fail(f"{path} cannot be read: {error.strerror}", Exit.FAILED)
    return path
