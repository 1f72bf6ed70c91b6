"""Which databases are meant: by a pattern of the path, by patterns of labels, or both. Pure."""

import fnmatch
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adocd.model.labels import LABELS, labels_of

#: What a condition can be about.
NAMES = ("path", *LABELS)


class NoSelector(ValueError):
    """Conditions that select nothing that there can be; the message is one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Patterns that must all match. In a pattern, * and ? match as in a shell, and * also matches /.

    `path` None: any path. A database without one of the labels is not meant.
    """

    path: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def matches(self, path: str) -> bool:
        """Whether the database at this path is meant."""
        if self.path is not None and not _matches(self.path, path):
            return False
        if not self.labels:
            return True
        found = labels_of(path)
        return all(name in found and _matches(pattern, found[name]) for name, pattern in self.labels.items())


def parse(conditions: Iterable[str]) -> Selector:
    """Parse conditions such as `application=orders` and `path=/var/lib/*`; raises NoSelector."""
    found: dict[str, str] = {}
    for condition in conditions:
        name, equals, pattern = condition.partition("=")
        if not equals or not name or not pattern:
            raise NoSelector(f"a condition is NAME=PATTERN, such as application=orders, not {condition[:200]!r}")
        if name not in NAMES:
            raise NoSelector(no_such_label(name, NAMES))
        if name in found:
            raise NoSelector(f"{name} is given twice; write one pattern for it, in which * and ? match as in a shell")
        found[name] = pattern
    if not found:
        raise NoSelector(f"say which databases are meant: NAME=PATTERN, with {_listed(NAMES)} as NAME")
    return Selector(found.pop("path", None), found)


def no_such_label(name: str, known: Iterable[str] = LABELS) -> str:
    """Say that there is no such label, and which there are."""
    return f"there is no label {name[:200]!r}; there are {_listed(tuple(known))}"


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).match(text) is not None


@functools.lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))
