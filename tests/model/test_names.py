"""A public class name means one thing in all three packages: who greps for it finds one definition."""

from __future__ import annotations

import functools
import re
from collections import defaultdict

from tests.conftest import REPOSITORY

PACKAGES = ("adocd", "bench/adocd_bench", "agents/python/adocd_agent")
#: Two classes of one name that are the same thing, and why there are two.
SAME_THING = {
    "Capabilities": "the admin protocol's schema of that name, read by the daemon and written by the Python agent",
    "OptionsFile": "RocksDB's file of that name; the Python agent imports nothing of adocd",
}
_CLASS = re.compile(r"^ *class ([^\W_]\w*)", re.MULTILINE)


@functools.cache
def _definitions() -> dict[str, list[str]]:
    """Find where each public class is defined; a file that is linked into another package counts once."""
    found: dict[str, list[str]] = defaultdict(list)
    paths = {path.resolve() for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py")}
    for path in sorted(paths):
        text = path.read_text(encoding="utf-8")
        for each in _CLASS.finditer(text):
            line = text.count("\n", 0, each.start()) + 1
            found[each[1]].append(f"{path.relative_to(REPOSITORY.resolve())}:{line}")
    return found


def test_no_two_public_classes_share_a_name() -> None:
    found = _definitions()
    assert len(found) > 500, "the packages are looked at"
    shared = {name: places for name, places in found.items() if len(places) > 1 and name not in SAME_THING}
    assert shared == {}, "rename one of them by what it is one of"


def test_every_exception_is_still_needed() -> None:
    found = _definitions()
    assert [name for name in SAME_THING if len(found[name]) < 2] == []
