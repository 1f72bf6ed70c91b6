"""What a device counted between two moments of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from adocd_bench.evaluation.device_count import DeviceCount
from adocd_bench.host.device import block_device_of


def counted(*looks: tuple[float, int, int]) -> DeviceCount:
    """Make one that has looked: monotonic seconds, bytes written and bytes read so far."""
    device, found = DeviceCount("loop0", dedicated=True), iter(looks)
    device._count = lambda: next(found)  # type: ignore[method-assign]
    for _ in looks:
        device.look()
    return device


def looks() -> Iterator[tuple[float, int, int]]:
    """Two looks a second: 10 bytes/s, and 100 in the third second, on top of what was there before."""
    for half in range(13):
        at_s = half / 2
        yield 100 + at_s, round(1000 + 10 * at_s + 90 * min(1.0, max(0.0, at_s - 3))), 7 * half


def test_bytes_of_the_phase_and_of_its_highest_second() -> None:
    found = counted(*looks()).between(101.0, 105.5)
    assert found is not None
    assert (found.device, found.dedicated) == ("loop0", True)
    assert (found.written_bytes, found.read_bytes) == (45 + 90, 63)
    assert found.most_written_bytes_per_s == pytest.approx(100.0)


def test_between_two_looks_it_is_linear() -> None:
    found = counted((0.0, 0, 0), (10.0, 1000, 500)).between(2.5, 5.0)
    assert found is not None
    assert (found.written_bytes, found.read_bytes) == (250, 125)
    assert found.most_written_bytes_per_s == pytest.approx(100.0)


@pytest.mark.parametrize(
    "device",
    [DeviceCount(None), DeviceCount("loop0"), counted((1.0, 0, 0), (9.0, 1, 1)), counted((0.0, 0, 0), (4.0, 1, 1))],
    ids=["no device", "never looked", "looked late", "ended early"],
)
def test_what_was_not_seen_is_not_recorded(device: DeviceCount) -> None:
    assert device.between(0.5, 8.0) is None


def test_a_real_device_counts(disk: Path) -> None:
    written = DeviceCount(block_device_of(disk).name).written_bytes()
    assert written is not None
    assert written > 0
    assert DeviceCount("no-such-device").written_bytes() is None
