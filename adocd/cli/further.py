"""Commands of `adocd` that come with another distribution: those of adocd-bench."""

from collections.abc import Callable
from importlib.metadata import entry_points

import typer

from adocd.cli.exits import EPILOG, Exit, fail

#: What adocd-bench has, so that each can say where to get it.
_OF_THE_BENCH = {"bench": "The evaluation of all control laws.", "demo": "A real RocksDB, without and with control."}

_ANY = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Add the commands that are installed, and for those that are not one that says what to install."""
    found = {point.name: point for point in entry_points(group="adocd.commands")}
    for name, summary in _OF_THE_BENCH.items():
        if name not in found:
            app.command(name=name, help=summary, epilog=EPILOG, context_settings=_ANY)(_missing(name))
            continue
        loaded = found[name].load()
        if isinstance(loaded, typer.Typer):
            app.add_typer(loaded, name=name)
        else:
            app.command(name=name, epilog=EPILOG)(loaded)


def _missing(name: str) -> Callable[[], None]:
    def say_where_it_is() -> None:
        fail(f"adocd {name} is in another package: pip install 'adocd[bench]'", Exit.FAILED)

    return say_where_it_is
