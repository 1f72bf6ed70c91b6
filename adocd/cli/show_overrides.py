"""Human-readable output of `adocctl override`."""

from typing import Any

from adocd.cli.show import console, table
from adocd.model.in_words import option_value, span


def pinned(override: dict[str, Any]) -> None:
    """Show a pin that was set, and whether it has an effect."""
    console.print(f"{_name(override)} is pinned to {_value(override)} {_time(override['remaining_s'])}")
    if override["ineffective"]:
        console.print(f"It is not in force: {override['ineffective']}")


def listed(overrides: list[dict[str, Any]]) -> None:
    """Show all pins."""
    if not overrides:
        console.print("Nothing is pinned.")
        return
    rows = table("option", "value", "where", "how long", "by", "reason", "effect")
    for override in overrides:
        rows.add_row(
            _name(override),
            _value(override),
            override["target"] or "all targets",
            _time(override["remaining_s"]),
            override["who"],
            override["reason"] or "-",
            override["ineffective"] or ("-" if override["target"] is None else "in force"),
        )
    console.print(rows)


def cleared(answer: dict[str, Any]) -> None:
    """Show which pins were removed, and which stay because they are for all targets."""
    for override in answer["removed"]:
        console.print(f"{_name(override)} is not pinned any more (it was {_value(override)})")
    if not answer["removed"]:
        console.print("Nothing was pinned there.")
    for override in answer["left"]:
        console.print(f"{_name(override)} stays pinned to {_value(override)}, as on all targets: clear --all")


def _name(override: dict[str, Any]) -> str:
    family = override["column_family"]
    return str(override["option"]) if family is None else f"{override['option']} ({family})"


def _value(override: dict[str, Any]) -> str:
    return option_value(override["option"], override["value"])


def _time(remaining_s: float | None) -> str:
    return "until it is removed" if remaining_s is None else f"for {span(remaining_s)}"
