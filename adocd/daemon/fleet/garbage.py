"""Keeps Python's cyclic garbage collector from holding up control: it runs rarely and skips permanent objects.

A collection stops the whole process while it visits every object. Nearly all garbage here is not cyclic, and
reference counting frees it at once.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from adocd.daemon.watch.vitals import TimeHistogram

#: Objects that survive a full collection are not visited again for this long; then once, as databases come and go.
_WHOLE_EVERY_S = 3600.0
#: New objects before a collection of the young generation. Python's default of 700 would mean hundreds of collections
#: a second with a thousand targets.
_YOUNG = 50_000
_MIDDLE, _OLD = 20, 20
_OLDEST = 2


@contextmanager
def tamed(pauses: TimeHistogram) -> Iterator[None]:
    """Collect rarely while the block runs; `pauses` observes the duration of each collection, in seconds.

    Objects that exist now, mainly modules, are not visited again for an hour.
    """
    began_s = whole_s = time.monotonic()

    def collecting(phase: Literal["start", "stop"], about: dict[str, int]) -> None:
        nonlocal began_s, whole_s
        now_s, is_whole = time.monotonic(), about["generation"] == _OLDEST
        if phase == "start":
            began_s = now_s
            if is_whole and now_s - whole_s >= _WHOLE_EVERY_S:
                whole_s = now_s
                gc.unfreeze()
        else:
            if is_whole:
                gc.freeze()
            pauses.observe(now_s - began_s)

    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
    gc.callbacks.append(collecting)
    try:
        yield
    finally:
        gc.callbacks.remove(collecting)
        gc.set_threshold(*before)
        gc.unfreeze()
