"""The device is measured once for each plan, and again on another machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.evaluation import measured, raw
from adocd_bench.evaluation.measured import MeasuredDevice, know
from adocd_bench.host import bandwidth
from adocd_bench.host.bandwidth import DeviceBandwidth

from tests.bench.evaluation.builders import MACHINE


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every measurement finds another MB/s more, in this list of places."""
    places = list[Path]()

    def measure(place: Path) -> DeviceBandwidth:
        places.append(place)
        return DeviceBandwidth(1e6 * len(places), 2e6 * len(places))

    monkeypatch.setattr(bandwidth, "measure", measure)
    return places


def test_on_the_same_machine_it_is_measured_once(found: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "measured.json"
    first = know(file, tmp_path, MACHINE)
    assert know(file, tmp_path, replace(MACHINE, memory_bytes=1, device="sdb")) == first
    assert found == [tmp_path]
    told = first.told(MACHINE)
    assert (told.device_write_bytes_per_s, told.device_read_bytes_per_s) == (1e6, 2e6)
    assert MeasuredDevice(None).told(MACHINE) == MACHINE


@pytest.mark.parametrize("other", [replace(MACHINE, kernel="6.2"), replace(MACHINE, cpu_model="another processor")])
def test_on_another_machine_it_is_measured_again_with_the_rate_of_flushes(
    found: list[Path], tmp_path: Path, other: raw.Machine
) -> None:
    """The runs of the second machine were told to have the first one's device."""
    file = tmp_path / "measured.json"
    first = know(file, tmp_path, MACHINE)
    measured.keep(file, replace(first, flushing_bytes_per_s={"cap-50": 40}))
    second = know(file, tmp_path, other)
    assert len(found) == 2
    assert second.bandwidth == DeviceBandwidth(2e6, 4e6)
    assert second.flushing_bytes_per_s == {}
    assert know(file, tmp_path, other) == second


def test_what_does_not_say_its_machine_is_read_as_before(found: list[Path], tmp_path: Path) -> None:
    """The kept results are older."""
    file = tmp_path / "measured.json"
    file.write_text(
        '{"bandwidth": {"write_bytes_per_s": 5.0, "read_bytes_per_s": 6.0}, "flushing_bytes_per_s": {"c": 7}}'
    )
    assert know(file, tmp_path, MACHINE) == MeasuredDevice(DeviceBandwidth(5.0, 6.0), {"c": 7})
    assert not found
