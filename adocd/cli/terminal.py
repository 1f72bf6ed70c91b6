"""Write lines to the terminal, and format times the same way in all commands."""

from datetime import datetime

import typer

from adocd.model.printable import printable


def say(sentence: str, *, err: bool = False) -> None:
    """Write a line, with unprintable characters escaped."""
    typer.echo(printable(sentence), err=err)


def clock(time_s: float, *, date: bool = False) -> str:
    """Format a unix time in this machine's zone; times that no calendar has stay a number."""
    try:
        return f"{datetime.fromtimestamp(time_s).astimezone():{'%Y-%m-%d %H:%M:%S' if date else '%H:%M:%S'}}"
    except (ValueError, OverflowError, OSError):
        return f"{time_s:.0f}"


def zone(time_s: float) -> str:
    """Name the time zone that `clock` uses at this time; empty if it has no name."""
    try:
        return datetime.fromtimestamp(time_s).astimezone().tzname() or ""
    except (ValueError, OverflowError, OSError):
        return ""
