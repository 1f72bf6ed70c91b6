"""`adocctl explain`: a diagnosis from a LOG alone, or of a target from everything the daemon saw."""

from pathlib import Path
from typing import Annotated, Any

import typer

from adocd.api.client import NoDaemon
from adocd.cli import show, show_explain
from adocd.cli.exits import Exit, Failure, fail
from adocd.cli.target import Json, daemon, target_id


def explain(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET | LOG_FILE]",
            help="A RocksDB LOG, a database directory (its LOG and rotated ones), or a target as for status.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what stalled, when, for how long, why, and what would likely help.

    A LOG file or directory needs no daemon and no agent. For a target it shows what the daemon has seen since it found
    the target, including device and CPU load during stalls. Changes nothing.
    """
    missing = None if what is None else no_file(what)
    found = diagnosis(Path(what)) if what is not None and missing is None else _of_target(what, missing or "")
    show.json_or(as_json, found, show_explain.diagnosis)


def no_file(name: str) -> str | None:
    """Return why nothing can be read under this name; None if something can."""
    try:
        return None if name and Path(name).exists() else f"there is no file {name!r}"
    except (OSError, ValueError) as error:
        return f"{name} cannot be read: {getattr(error, 'strerror', None) or error}"


def _of_target(name: str | None, missing: str) -> dict[str, Any]:
    client = daemon()
    try:
        return dict(client.get(f"/v1/targets/{target_id(client, name)}/diagnosis"))
    except NoDaemon as error:
        if name is None:
            raise
        fail(f"{missing}, and whether it is a target cannot be asked: {error}", Exit.NO_TARGET)
    except Failure as error:
        if name is None or error.code is not Exit.NO_TARGET:
            raise
        fail(f"{missing}, and {error}", Exit.NO_TARGET)


def diagnosis(path: Path) -> dict[str, Any]:
    """Read a LOG, or a directory's; fails with one sentence if there is none."""
    # Imported here: the LOG parser would slow the start of every other command.
    from adocd.diagnosis import Diagnosis  # noqa: PLC0415
    from adocd.probes.log import LogParser, read_log  # noqa: PLC0415

    log = _log(path)
    parser, found = LogParser(), Diagnosis()
    try:
        for event in read_log(log, rotated=path.is_dir(), parser=parser):
            found.add(event)
    except OSError as error:
        fail(_unreadable(log, error), Exit.FAILED)
    found.end()
    if not parser.lines:
        fail(f"{log} is empty", Exit.FAILED)
    if not found.events:
        fail(f"{log} is not a RocksDB LOG: nothing in it reads like one", Exit.FAILED)
    whole = found.summary(lines=parser.lines, unread=parser.unread, stepped_back=parser.stepped_back)
    return {"path": str(log)} | whole


def _log(path: Path) -> Path:
    try:
        if path.is_dir():
            log = path / "LOG"
            if not log.exists():
                fail(
                    f"{path} is not a database's directory: there is no LOG in it; name the LOG itself if the "
                    "database has another db_log_dir",
                    Exit.NO_TARGET,
                )
            return log
        if not path.exists():
            fail(f"there is no file {path}", Exit.NO_TARGET)
        if not path.is_file():
            fail(f"{path} is neither a file nor a directory", Exit.FAILED)
    except OSError as error:
        fail(_unreadable(path, error), Exit.FAILED)
    return path


def _unreadable(path: Path, error: OSError) -> str:
    way_out = "; ask as root or as the database's user" if isinstance(error, PermissionError) else ""
    return f"{path} cannot be read: {error.strerror}{way_out}"
