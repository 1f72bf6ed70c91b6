"""How much room a change of options needs, in whose eyes."""

from __future__ import annotations

import os

import pytest
from adocd_agent.disk_space import lack_of_space

ROOT, USER = 0, 1000


def file_system(*, free_mib: int, available_mib: int, blocks: int = 1 << 20) -> os.statvfs_result:
    return os.statvfs_result((4096, 4096, blocks, free_mib * 256, available_mib * 256, 0, 0, 0, 0, 255))


@pytest.mark.parametrize(
    ("uid", "seen", "lacks"),
    [
        (USER, file_system(free_mib=8, available_mib=8), False),
        (USER, file_system(free_mib=8, available_mib=7), True),  # the rest is root's
        (ROOT, file_system(free_mib=8, available_mib=7), False),
        (ROOT, file_system(free_mib=7, available_mib=7), True),
        (USER, file_system(free_mib=0, available_mib=0, blocks=0), False),  # one that has no size
    ],
)
def test_eight_mebibytes_are_enough(
    monkeypatch: pytest.MonkeyPatch, uid: int, seen: os.statvfs_result, lacks: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(os, "statvfs", lambda _: seen)
    assert (lack_of_space(["/db"]) is not None) == lacks


def test_the_sentence_names_the_directory_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    empty, full = file_system(free_mib=99, available_mib=99), file_system(free_mib=0, available_mib=0)
    monkeypatch.setattr(os, "statvfs", lambda directory: full if directory == "/log" else empty)
    lack = lack_of_space(["/db", "/log"])
    assert lack is not None
    assert lack.startswith("less than 8 MiB are free for /log, ")


def test_a_directory_that_is_gone_lacks_nothing() -> None:
    assert lack_of_space(["/nonexistent"]) is None
