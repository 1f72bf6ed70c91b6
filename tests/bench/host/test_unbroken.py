"""A signal that comes while something is cleaned up takes effect afterwards."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from adocd_bench.host.unbroken import unbroken
from adocd_bench.run.interrupt import interruptible


def test_a_signal_waits_until_it_is_done_whichever_thread_gets_it() -> None:
    done, ends = list[str](), threading.Event()

    def clean_up(*signals: signal.Signals) -> None:
        with interruptible(), unbroken():
            for number in signals:
                os.kill(os.getpid(), number)
            done.append("the device is detached")

    other = threading.Thread(target=ends.wait)
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            clean_up(signal.SIGINT, signal.SIGTERM)
    finally:
        ends.set()
        other.join()
    assert len(done) == 1
    clean_up()
    assert len(done) == 2
