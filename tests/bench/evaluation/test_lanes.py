"""Work that is done in several threads at once."""

from __future__ import annotations

import threading

import pytest
from adocd_bench.evaluation.lanes import Gathering, Lanes

_WITHIN_S = 30.0


def test_one_lane_is_the_callers_own_thread() -> None:
    assert list(Lanes().each([1, 2], lambda _: threading.current_thread())) == [threading.main_thread()] * 2


def test_so_many_lanes_work_at_once_and_no_more_and_in_the_order_of_the_items() -> None:
    lanes, together, begun, at_once, most = Lanes(3), threading.Barrier(3), list[int](), 0, 0
    lock = threading.Lock()

    def work(item: int) -> int:
        nonlocal at_once, most
        with lock:
            begun.append(item)
            at_once += 1
            most = max(most, at_once)
        if item < 3:
            together.wait(_WITHIN_S)  # ends only where three are at work
        with lock:
            at_once -= 1
        return item * item

    assert sorted(lanes.each(range(9), work)) == [item * item for item in range(9)]
    assert (sorted(begun), most) == (list(range(9)), 3)
    assert sorted(begun[:3]) == [0, 1, 2]


def test_fewer_items_than_lanes_are_done() -> None:
    assert sorted(Lanes(8).each("ab", str.upper)) == ["A", "B"]
    assert list(Lanes(8).each([], str)) == []


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_the_first_error_ends_all_lanes_and_nothing_else_begins(error: BaseException) -> None:
    lanes, both, ended, begun = Lanes(2), threading.Barrier(2), list[int](), list[int]()

    def work(item: int) -> None:
        begun.append(item)
        both.wait(_WITHIN_S)
        if item == 0:
            raise error
        for _ in range(round(_WITHIN_S / 0.01)):
            try:
                lanes.check()
            except KeyboardInterrupt:
                ended.append(item)
                raise
            threading.Event().wait(0.01)

    with pytest.raises(type(error)):
        list(lanes.each(range(9), work))
    assert (sorted(begun), ended) == ([0, 1], [1])


def test_an_interrupt_of_the_caller_ends_all_lanes() -> None:
    lanes, ended = Lanes(2), list[int]()

    def work(item: int) -> int:
        if item == 0:
            return item
        for _ in range(round(_WITHIN_S / 0.01)):
            try:
                lanes.check()
            except KeyboardInterrupt:
                ended.append(item)
                raise
            threading.Event().wait(0.01)
        return item

    def caller() -> None:
        for _ in lanes.each([0, 1], work):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        caller()
    assert ended == [1]


def test_nobody_begins_before_all_have_arrived_or_ended() -> None:
    gathering = Gathering(["slow", "fast", "fails"])
    assert not gathering.arrive("fast")
    assert not gathering.arrive("fails"), "it has ended, and one is still missing"
    assert not gathering.arrive("fast"), "asked again, it counts once"
    assert gathering.arrive("slow")
    assert gathering.arrive("fast")
