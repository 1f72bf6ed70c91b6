"""The command `adocctl doctor`."""

import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from adocd.cli import show
from adocd.cli.console import is_screen
from adocd.cli.exits import Exit
from adocd.cli.target import Json
from adocd.targets import run_dir

_CONFIG = Path("/etc/adocd/adocd.toml")
_STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}


def doctor(as_json: Json = False) -> None:
    """Find what is wrong with this installation and how to fix it. Changes nothing.

    Exits with 1 if there is a problem, with 0 if there are only warnings.
    """
    findings = [asdict(finding) for finding in _all(run_dir.run_dir())]
    show.json_or(as_json, {"findings": findings}, _print)
    if any(finding["level"] == "problem" for finding in findings):
        raise typer.Exit(Exit.FAILED)


def _all(directory: Path) -> Iterator[Any]:
    # Imported here: what these modules load would slow the start of every other command.
    from adocd.cli.doctor import agents, daemon, places, processes, web  # noqa: PLC0415

    yield from places.run_directory(directory)
    health, found = daemon.health(directory)
    yield from found
    yield from agents.running(directory)
    yield from agents.native_agent()
    yield from processes.without_agent(directory)
    yield from places.journal(directory, health)
    yield from places.configuration(_CONFIG)
    yield from places.clock(directory)
    if health is not None:
        yield from web.served(health)
    yield from web.configured(_CONFIG, directory, answers=health is not None)
    yield from web.tokens(directory)
    yield from daemon.systemd(answers=health is not None)


def _print(content: dict[str, Any]) -> None:
    """Show all findings: one line each in a pipe, with a hanging indent on a terminal."""
    width = shutil.get_terminal_size().columns if is_screen() else sys.maxsize
    counts = dict.fromkeys(_STYLES, 0)
    for finding in content["findings"]:
        level = finding["level"]
        counts[level] += 1
        head = f"{level:<8} {finding['check']}: "
        for text, style in ((f"{head}{finding['what']}", _STYLES[level]), (finding["way_out"], "")):
            if text is not None:
                line = text if style else f"{'':9}way out: {text}"
                show.console.print(
                    textwrap.fill(line, width, subsequent_indent=" " * 11, break_on_hyphens=False), style=style
                )
    show.console.print(f"{counts['problem']} problems, {counts['warning']} warnings, {counts['ok']} are well")
