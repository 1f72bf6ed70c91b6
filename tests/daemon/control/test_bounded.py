"""Calls that hold up nobody, and calls where time is virtual."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from adocd.daemon.control import bounded
from adocd.probes import workers


def test_what_comes_back_is_the_functions() -> None:
    assert asyncio.run(bounded.call(lambda: 7, 1.0)) == 7
    assert asyncio.run(bounded.call(lambda: None, 1.0)) is None
    assert asyncio.run(bounded.call(lambda: 7, None)) == 7


@pytest.mark.parametrize("limit_s", [1.0, None])
@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)])
def test_whatever_is_raised_is_told(limit_s: float | None, error: BaseException) -> None:
    def fails() -> None:
        raise error

    with pytest.raises(bounded.Raised) as raised:
        asyncio.run(bounded.call(fails, limit_s))
    assert raised.value.error is error


def test_what_takes_too_long_is_left_to_itself() -> None:
    ends, ended = threading.Event(), threading.Event()

    def takes_long() -> None:
        ends.wait(600)
        ended.set()

    with pytest.raises(bounded.TookTooLong, match=r"it took more than 0\.1 s"):
        asyncio.run(bounded.call(takes_long, 0.1))
    assert not ended.is_set(), "it was waited for"
    ends.set()  # its loop has gone, and nobody minds


def test_time_in_which_the_daemon_stood_still_does_not_count() -> None:
    goes_on = threading.Event()

    def needs_a_little_time() -> int:
        goes_on.wait(600)
        time.sleep(0.1)  # more than one part of the limit, so that the standstill must not have used it up
        return 7

    def stand_still() -> None:
        time.sleep(1.5)
        goes_on.set()

    async def body() -> int:
        asyncio.get_running_loop().call_soon(stand_still)
        return await bounded.call(needs_a_little_time, 1.0)

    assert asyncio.run(body()) == 7


def test_a_call_that_no_thread_can_be_started_for_is_not_the_functions_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers, "start", no_thread)
    with pytest.raises(bounded.NotStarted, match="can't start new thread"):
        asyncio.run(bounded.call(lambda: 7, 1.0))


def test_without_a_limit_no_thread_is_begun() -> None:
    assert asyncio.run(bounded.call(threading.get_ident, None)) == threading.get_ident()
    assert asyncio.run(bounded.call(threading.get_ident, 1.0)) != threading.get_ident()
