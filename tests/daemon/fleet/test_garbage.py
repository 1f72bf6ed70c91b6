"""Garbage is collected seldom, and afterwards as before."""

from __future__ import annotations

import gc

from adocd.daemon.fleet import garbage
from adocd.daemon.watch.vitals import TimeHistogram


def test_what_is_there_is_left_alone_until_the_end() -> None:
    before, pauses = gc.get_threshold(), TimeHistogram()
    with garbage.tamed(pauses):
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() > before
        kept = [[number] for number in range(1000)]
        frozen = gc.get_freeze_count()
        gc.collect()
        assert sum(pauses.counts) == 1
        assert gc.get_freeze_count() >= frozen + len(kept)
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
    gc.collect()
    assert sum(pauses.counts) == 1


def test_cycles_go_all_the_same() -> None:
    with garbage.tamed(TimeHistogram()):
        loop: list[object] = []
        loop.append(loop)
        del loop
        assert gc.collect() >= 1
