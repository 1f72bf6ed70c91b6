"""Python's collector of cyclic garbage, kept from holding up control: seldom, and not over what never goes.

A collection stops everything for as long as it takes to visit every object. Nearly all garbage here is no cycle and
goes at once without it.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from adocd.daemon.watch.vitals import Histogram

#: What has survived a whole collection is not visited again for so long; then it is once, for databases come and go.
_WHOLE_EVERY_S = 3600.0
#: Objects more than before, until the young are looked at: with Python's 700 a thousand targets would be looked at
#: hundreds of times a second.
_YOUNG = 50_000
_MIDDLE, _OLD = 20, 20
_OLDEST = 2


@contextmanager
def tamed(pauses: Histogram) -> Iterator[None]:
    """Collect seldom while the block runs; `pauses` is told how long each collection took, in seconds.

    What is there now, modules above all, is not visited again for long.
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
