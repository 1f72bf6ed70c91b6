"""Being somebody else: real users, as the kernel sees them. Only root can."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

ROOT = os.geteuid() == 0
NOBODY = 65534
ALICE = 40001
BOB = 40002
"""Users that no machine knows by name."""
GROUP = 40100
"""A group that Alice and Bob are in, where a test says so."""


@contextlib.contextmanager
def somebody(uid: int, groups: Sequence[int] = ()) -> Iterator[None]:
    """Be another user in this process: who connects is who the effective uid says at that moment."""
    before = os.getgroups()
    os.setgroups(groups)
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


def others() -> list[int]:
    """List the users that a test can be: all, or only its own where it is not root's."""
    return [0, NOBODY, ALICE, BOB] if ROOT else [os.geteuid()]


@contextlib.contextmanager
def as_user(uid: int, groups: Sequence[int] = ()) -> Iterator[None]:
    """Be that user, who may be the one we are: only root can become another."""
    with contextlib.nullcontext() if uid == os.geteuid() else somebody(uid, groups):
        yield
