"""Finds targets by the names people use: an id or its beginning, a path or its end."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from adocd.model.nearest import instead, nearest

T = TypeVar("T")


def named(name: str, targets: Iterable[T], identity: Callable[[T], tuple[str, str]]) -> list[T]:
    """Return the targets that `name` can mean; a complete id or path means only that one.

    `identity` returns a target's id and path. An empty name, as from an unset shell variable, matches none. The end of
    a path comes before the beginning of an id, which is random: `db` must not mean another database that happens to
    have such an id.
    """
    if not name:
        return []
    known = [(target, *identity(target)) for target in targets]
    exact = [target for target, target_id, path in known if name in (target_id, path)]
    ends = [target for target, _, path in known if path.endswith(f"/{name}")]
    return exact or ends or [target for target, target_id, _ in known if target_id.startswith(name)]


def not_utf8(path: Path) -> str | None:
    """Say why a path cannot be shown, because JSON has no bytes that are no text; None if it can."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return f"{str(path)!a} is not UTF-8, so adocd cannot show it: rename it"
    return None


def no_such(name: str, known: Iterable[tuple[str, str]]) -> str:
    """Say that no target has this name; `known` are the ids and paths of those that there are."""
    known = list(known)
    words = {word: path for target_id, path in known for word in (target_id, path.rstrip("/").rpartition("/")[2], path)}
    if (near := nearest(name, words)) is not None:
        return f"there is no target {name!r}; did you mean {near}{'' if near == words[near] else f' ({words[near]})'}?"
    return f"there is no target {name!r}{instead(name, (f'{target_id} ({path})' for target_id, path in known))}"
