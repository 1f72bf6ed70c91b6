"""Writing a line to the terminal."""

import typer

from adocd.model.printable import printable


def say(sentence: str, *, err: bool = False) -> None:
    """Write a line."""
    typer.echo(printable(sentence), err=err)
