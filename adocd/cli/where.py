"""`--where NAME=PATTERN`: several databases at once, by their paths and labels; and what became of them."""

import json
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from adocd.api.client import RestClient
from adocd.cli import completing, show
from adocd.cli.exits import Exit, fail
from adocd.model.selector import NoSelector, Selector, parse

#: Most databases that an answer lists; --json lists all.
_LISTED = 20
#: How long an answer about hundreds of databases may take (s): each takes its policy between two of its cycles.
TIMEOUT_S = 120.0

Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="NAME=PATTERN",
        help="Instead of TARGET: all open databases whose path or label matches, such as application=orders; "
        "repeatable: all must match. * and ? match as in a shell.",
        autocompletion=completing.conditions,
    ),
]


def selector(where: list[str]) -> Selector:
    """Parse the conditions, or fail."""
    try:
        return parse(where)
    except NoSelector as error:
        fail(f"--where: {error}", Exit.USAGE)


def check_alone(where: list[str], target: str | None, if_match: str | None = None) -> None:
    """Fail if the conditions make no sense, or if one database is named, too."""
    if target is not None:
        fail("say which target is meant, or --where, not both", Exit.USAGE)
    if if_match is not None:
        fail("--if-match is about the policy of one target: leave it out, or --where", Exit.USAGE)
    selector(where)  # here, because a mistake needs no daemon


def set_policies(client: RestClient, where: list[str], policy: dict[str, Any], *, as_json: bool) -> None:
    """Set the policy of all that match; exit code 5 if some refused."""
    answer = client.put(_path(where), policy)
    show.json_or(as_json, answer, lambda answer: _set(answer, selector(where)))
    if answer["failed"]:
        raise typer.Exit(Exit.REFUSED)


def reset_policies(client: RestClient, where: list[str], *, as_json: bool) -> None:
    """Reset the policy of all that match."""
    answer = client.delete(_path(where))
    show.json_or(
        as_json,
        answer,
        lambda answer: _told(
            answer, f"{_many(len(answer['done']))} the policy of adocd serve and its configuration again."
        ),
    )


def _path(where: list[str]) -> str:
    return f"/v1/policy?{urlencode([('where', condition) for condition in where])}"


def _set(answer: dict[str, Any], meant: Selector) -> None:
    law = show.policy_in_words({"policy": answer["policy"], "paused": None})
    _told(answer, f"{_many(len(answer['done']))} the policy {law} now.")
    if answer["done"]:
        show.console.print(
            "Those that open later, such as the next segment of a window, have the policy of adocd serve and its "
            "configuration. To give them this one, put this before the other [[targets]] there, and reload it:\n"
        )
        show.console.print("\n".join(as_configuration(meant, answer["policy"])))


def as_configuration(meant: Selector, policy: dict[str, Any]) -> list[str]:
    """Write the lines of a [[targets]] that gives databases this policy."""
    lines = ["[[targets]]"]
    lines += [] if meant.path is None else [f"path = {_toml(meant.path)}"]
    lines += [f"labels = {_toml(dict(meant.labels))}"] if meant.labels else []
    lines += [f"controller = {_toml(policy['controller'])}"]
    lines += [f"parameters = {_toml(policy['parameters'])}"] if policy["parameters"] else []
    lines += ["dry_run = true"] if policy["dry_run"] else []
    shaped = {name: value for name, value in policy["shaping"].items() if value}
    return lines + ([f"shaping = {_toml(shaped)}"] if shaped else [])


def _toml(value: Any) -> str:
    """Write a value of TOML on one line; its texts are written as in JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_toml(inner)}" for name, inner in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() and name.isascii() else json.dumps(name, ensure_ascii=False)


def _told(answer: dict[str, Any], done: str) -> None:
    show.console.print(done)
    failed = list(answer["failed"].items())
    for target, why in failed[:_LISTED]:
        show.console.print(f"{target}: FAILED: {why}")
    if len(failed) > _LISTED:
        show.console.print(f"and {len(failed) - _LISTED} more FAILED; --json lists them")
    if answer["closed"]:
        count = len(answer["closed"])
        show.console.print(
            f"{count} closed one{'s' if count > 1 else ''} that match{'' if count > 1 else 'es'} "
            f"{'were' if count > 1 else 'was'} left alone."
        )


def _many(count: int) -> str:
    return "1 database has" if count == 1 else f"{count or 'No'} databases have"
