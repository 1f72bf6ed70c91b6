"""Options as they are, as they were, and as the OPTIONS file has them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from adocd.model.options import BYTES_PER_SYNC_OFF

Json = Any


def differing(now: Json, originals: Json, *, pools: bool) -> dict[str, tuple[str, str]]:
    """Find what is not as it was; by name the value now and the original.

    Not counted is what RocksDB cannot take back: where max_background_jobs can be changed its thread pools never
    shrink with it (`pools` is false there), and a bytes_per_sync of 0 cannot be set live: off is what no file reaches.
    """
    scopes = [(now["database"], originals["database"])]
    scopes += [(now["column_families"][name], options) for name, options in originals["column_families"].items()]
    scopes += [(now["thread_pools"], originals["thread_pools"])] if pools else []
    assert all(old for _, old in scopes), f"no originals to compare with: {originals}"
    return {
        name: (new[name], old[name])
        for new, old in scopes
        for name in old
        if new[name] != old[name] and (name, old[name], new[name]) != ("bytes_per_sync", "0", str(BYTES_PER_SYNC_OFF))
    }


def until_nothing_differs(differing_now: Callable[[], object], within_s: float) -> None:
    """Wait until the function finds nothing more; fails with what it still finds."""
    deadline_s = time.monotonic() + within_s
    while left := differing_now():
        assert time.monotonic() < deadline_s, f"not put back within {within_s} s, now and before: {left}"
        time.sleep(0.05)


def newest_options_file(directory: Path) -> Path:
    """Find the OPTIONS file that the next open would load."""
    return max(directory.glob("OPTIONS-*[0-9]"), key=lambda path: int(path.name.partition("-")[2]))


def stored(directory: Path) -> Mapping[str, str]:
    """Read what the newest OPTIONS file has for the database and the default column family."""
    text = newest_options_file(directory).read_text()
    sections = re.split(r"^\s*\[(.+)\]\s*$", text, flags=re.MULTILINE)
    wanted = ("DBOptions", 'CFOptions "default"')
    lines = [body for name, body in zip(sections[1::2], sections[2::2], strict=True) if name in wanted]
    assert len(lines) == len(wanted), f"{directory}: its OPTIONS file has {sections[1::2]}"
    return dict(re.findall(r"^\s*(\w+)=(.*?)\s*$", "\n".join(lines), flags=re.MULTILINE))
