"""What an action has done, in words; what somebody must still see to stays on the screen until it is closed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from adocd.api.restored import not_back


@dataclass(frozen=True, slots=True)
class ActionDone:
    """What was done, in words. `stays`: until somebody closes it, because not all is well."""

    words: str
    stays: bool = False


def done(words: str, warning: str | None = None, *, stays: bool = False) -> ActionDone:
    """Say what was done; `warning` is REST's, why it would not survive a restart of the daemon."""
    return ActionDone(" ".join(filter(None, [words, warning])), stays or bool(warning))


def restored(answer: Mapping[str, Any]) -> ActionDone:
    """Say what the restore of one database has done; `answer` is REST's."""
    warning = answer["warning"]
    if left := "; ".join(not_back(answer).values()):
        return done(f"It is paused, but not all is restored: {left}.", warning, stays=True)
    begun = "The originals are being restored" if _begun(answer) else "It has nothing to restore"
    return done(f"{begun}; it is paused.", warning)


def all_restored(answer: Mapping[str, Any], name_of: Callable[[str], str]) -> ActionDone:
    """Say what the restore of all databases has done; `name_of` names a database, or a socket, by its id."""
    left = "".join(f" {name_of(target)}: {why}." for target, why in not_back(answer).items())
    words = f"{_begun_in_words(_begun(answer))}{left and f' Not all is restored:{left}'}"
    return done(words, answer["warning"], stays=bool(left))


def _begun(answer: Mapping[str, Any]) -> int:
    """Count the databases at which a restore has begun; the others had nothing to restore."""
    return sum(restore["state"] != "none" for restore in answer["restored"].values())


def _begun_in_words(number: int) -> str:
    if not number:
        return "No database that answered has anything to restore."
    return f"The originals of {number} {'database' if number == 1 else 'databases'} are being restored."
