"""Human-readable output of `policy show` and `policy diff`."""

from typing import Any

from adocd.cli.show import console, table


def in_force(policy: dict[str, Any], laws: list[dict[str, Any]]) -> None:
    """Show a policy with all parameters of its laws, and mark the values that are the law's defaults."""
    dry = ", a dry run: it decides and changes nothing" if policy["dry_run"] else ""
    console.print(f"{policy['controller']}{dry}")
    chosen = policy["controller"].split("+")
    rows = table("parameter", "value", "")
    for law in (law for law in laws if law["name"] in chosen):
        for name, default in law["parameters"].items():
            key = f"{law['name']}.{name}" if len(chosen) > 1 else name
            given = policy["parameters"].get(key)
            if given is None:
                rows.add_row(key, _value(default), "default")
            else:
                rows.add_row(key, _value(given), "" if default is None else f"default {_value(default)}")
    for name, value in policy["shaping"].items():
        rows.add_row(f"shape {name}", _value(value), "" if value else "off")
    if rows.row_count:
        console.print(rows)


def replaced(changes: list[dict[str, Any]]) -> None:
    """Show what a new policy changed."""
    for change in changes:
        console.print(f"  {change['field']}: {_value(change['wanted'])}, was {_value(change['now'])}")


def difference(answer: dict[str, Any]) -> None:
    """Show what would change, and the ETag that lets the new policy replace only the one shown."""
    if not answer["changes"]:
        console.print("Nothing would change." if not answer["refused"] else "It cannot be set.")
        return
    rows = table("what", "now", "would be")
    for change in answer["changes"]:
        rows.add_row(change["field"], _value(change["now"]), _value(change["wanted"]))
    console.print(rows)
    if not answer["refused"] and "etag" in answer:  # an older daemon tells none
        console.print(f"To set it only if this policy is still in force: --if-match {answer['etag'].strip(chr(34))}")


def _value(value: Any) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
