"""Commands whose modules are imported only when they run or show their own help.

Command lists come from `Entry.summary` alone, so `--help` and completion import no command.
"""

import copy
import importlib
import sys
from collections import UserDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar

import typer
from typer._coercion import PassThroughRuntimeParam, RuntimeParam
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_group

from adocd.cli.exits import EPILOG

#: Modules that typer.rich_utils imports for Markdown and tracebacks, which adocd's help does not use.
_NOT_DRAWN = ("rich.markdown", "rich.traceback")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a command list.

    Attributes:
        where: the function, or the Typer application of a group, as `module:name`.
        summary: the first paragraph of its help; a test compares it with the command's own docstring.
        panel: the heading of the list under which it appears.
        settings: Click's context settings.

    """

    where: str
    summary: str
    panel: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def load(self, name: str) -> Any:
        """Import the command and return it as a Click command."""
        module, _, attribute = self.where.partition(":")
        return command(name, getattr(importlib.import_module(module), attribute), self.settings)


def command(name: str, loaded: Any, settings: Mapping[str, Any]) -> Any:
    """Make a command of a function, or of the Typer application of a group."""
    parent = typer.Typer()
    if isinstance(loaded, typer.Typer):
        parent.add_typer(loaded, name=name)
    else:
        parent.command(name=name, cls=QuickCommand, epilog=EPILOG, context_settings=dict(settings))(loaded)
    return get_group(parent).commands[name]


class QuickCommand(TyperCommand):
    """A command that starts quickly if it is given only flags, and texts that may be repeated."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List its parameters."""
        return _without_pydantic(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Draw the help as Typer does."""
        _import_rich_utils()
        super().format_help(ctx, formatter)


class _Commands(UserDict[str, Any]):
    """Commands by name, each loaded on access."""

    def __getitem__(self, name: str) -> Any:
        found = self.data[name]
        if isinstance(found, Entry):
            found = self.data[name] = found.load(name)
        return found


class LazyGroup(TyperGroup):
    """A group of commands that draws its help and completes their names without importing them."""

    entries: ClassVar[Mapping[str, Entry]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands(self.entries)

    def get_params(self, ctx: Any) -> list[Any]:
        """List its parameters."""
        return _without_pydantic(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """List their names."""
        del ctx
        return list(self.entries)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Draw the help as Typer does."""
        _import_rich_utils()
        TyperGroup.format_help(self._listed(), ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete as Typer does; Typer takes the group from the context."""
        ctx.command = self._listed()
        return TyperGroup.shell_complete(ctx.command, ctx, incomplete)

    def _listed(self) -> TyperGroup:
        """Make a copy of this group whose commands have only a name and a summary."""
        listed = copy.copy(self)
        listed.commands = {
            name: TyperCommand(name, help=entry.summary, rich_help_panel=entry.panel)
            for name, entry in self.entries.items()
        }
        return listed


def _without_pydantic(parameters: list[Any]) -> list[Any]:
    """Take flags and lists of texts as they are: pydantic, with which Typer validates, takes long to import."""
    for each in parameters:
        if not isinstance(each, TyperOption):
            continue
        descriptor = each.type_descriptor
        if each.is_flag and descriptor.annotation is bool:
            each._runtime_param = PassThroughRuntimeParam(descriptor.parameter_info, descriptor.annotation)
        elif each.multiple and descriptor.annotation == list[str]:
            each._runtime_param = _Texts(descriptor.parameter_info, descriptor.annotation)
    return parameters


class _Texts(RuntimeParam):
    """A repeatable option's texts, which need no validation."""

    def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
        del param, ctx
        return list(value)


def _import_rich_utils() -> None:
    """Import Typer's help renderer without Markdown and tracebacks, which take half of the time of `--help`."""
    if "typer.rich_utils" in sys.modules:
        return
    missing = [name for name in _NOT_DRAWN if name not in sys.modules]
    sys.modules.update({name: _Nothing(name) for name in missing})
    try:
        importlib.import_module("typer.rich_utils")
    finally:
        for name in missing:  # so that later imports get the real modules
            del sys.modules[name]


class _Nothing(ModuleType):
    """Stands in for a module whose names are imported but never used."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})
