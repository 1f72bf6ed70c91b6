"""How people name a target: by its id or the beginning of it, by its path or the end of it."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def named(name: str, targets: Iterable[T], identity: Callable[[T], tuple[str, str]]) -> list[T]:
    """Find the targets that `name` can mean; a whole id or path means that one alone.

    `identity` gives a target's id and path. An empty name, as of a shell variable that is not set, means none.
    """
    if not name:
        return []
    known = [(target, *identity(target)) for target in targets]
    exact = [target for target, target_id, path in known if name in (target_id, path)]
    return exact or [
        target for target, target_id, path in known if target_id.startswith(name) or path.endswith(f"/{name}")
    ]
