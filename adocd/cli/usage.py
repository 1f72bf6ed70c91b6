"""Says in one sentence what is wrong with a command line, in place of Typer's boxes and pydantic's words."""

from collections.abc import Iterator
from typing import Any

from adocd.model import mistakes
from adocd.model.nearest import nearest


def sentence(error: Any) -> str:
    """Return the sentence for a usage error of Typer's."""
    context = error.ctx
    command = "" if context is None else context.command_path
    if (option := getattr(error, "option_name", None)) is not None and type(error).__name__ == "NoSuchOption":
        near = nearest(option, _options(context))
        return f"{command} has no option {option}" + (f"; did you mean {near}?" if near else _see(command))
    param = getattr(error, "param", None)
    if param is None:
        said = str(error.message).replace(". Did you mean", "; did you mean").rstrip(".")
        return said[:1].lower() + said[1:] + ("" if said.endswith("?") else _see(command))
    name = param.opts[0] if param.param_type_name == "option" else _metavar(param)
    if type(error).__name__ == "MissingParameter":
        return f"{name} is missing" + _see(command)
    return _bad_value(error, param, name) + _see(command)


def _bad_value(error: Any, param: Any, name: str) -> str:
    found = getattr(error.__cause__, "errors", None)
    if (choices := getattr(param.type_descriptor, "choices", None)) is not None and found is not None:
        return f"{name} must be {' or '.join(str(getattr(c, 'value', c)) for c in choices)}, not {_given(found()[0])}"
    if found is None:
        return f"{name} {error.message}" if error.message.startswith("must ") else f"{name}: {error.message}"
    return mistakes.sentence(found()[0], name)


def _given(error: Any) -> str:
    return mistakes.quoted(error.get("input"))


def _metavar(param: Any) -> str:
    return str(param.metavar or param.name).strip("[]").upper()


def _see(command: str) -> str:
    return f"; {command} --help explains it" if command else ""


def _options(context: Any) -> Iterator[str]:
    if context is not None:
        for param in context.command.get_params(context):
            yield from (option for option in param.opts if option.startswith("-"))
