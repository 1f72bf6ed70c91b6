"""Commands of `adocd` that another distribution provides: adocd-bench."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adocd.cli.exits import Exit, fail
from adocd.cli.lazy import Entry, command

#: The entry point group in which a distribution registers its commands.
GROUP = "adocd.commands"
_ANY = {"allow_extra_args": True, "ignore_unknown_options": True}


@dataclass(frozen=True, slots=True)
class OfTheBench(Entry):
    """A command of adocd-bench. `where` is its entry point group. Without adocd-bench it says how to install it."""

    def load(self, name: str) -> Any:
        """Find it by its entry point."""
        # Imported here: it would take a tenth of the time of `adocd --help`.
        from importlib.metadata import entry_points  # noqa: PLC0415

        for point in entry_points(group=self.where, name=name):
            return command(name, point.load(), self.settings)
        return command(name, _missing(name, self.summary), _ANY)


def _missing(name: str, summary: str) -> Callable[[], None]:
    where = f"adocd {name} is in another package, adocd-bench: pip install ./bench in a checkout of adocd"

    def say_where_it_is() -> None:
        fail(where, Exit.FAILED)

    say_where_it_is.__doc__ = f"{summary}\n\n{where}"
    return say_where_it_is
