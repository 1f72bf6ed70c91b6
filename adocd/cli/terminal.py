"""Writing a line to the terminal, and times as all commands show them."""

from datetime import datetime

import typer

from adocd.model.printable import printable


def say(sentence: str, *, err: bool = False) -> None:
    """Write a line."""
    typer.echo(printable(sentence), err=err)


def clock(time_s: float, *, date: bool = False) -> str:
    """Show a time of this machine's zone, as all commands do; as a number where it is none that a calendar has."""
    try:
        return f"{datetime.fromtimestamp(time_s).astimezone():{'%Y-%m-%d %H:%M:%S' if date else '%H:%M:%S'}}"
    except (ValueError, OverflowError, OSError):
        return f"{time_s:.0f}"


def zone(time_s: float) -> str:
    """Name the zone of these times; empty where there is none."""
    try:
        return datetime.fromtimestamp(time_s).astimezone().tzname() or ""
    except (ValueError, OverflowError, OSError):
        return ""
