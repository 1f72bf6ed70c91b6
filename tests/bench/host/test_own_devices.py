"""What was written to the runs' own devices, whose counters go on from use to use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.host import own_devices
from adocd_bench.host.cap import Cap
from adocd_bench.host.device import WholeDisk, parse_profile
from adocd_bench.host.own_devices import OwnDevices

DISK = WholeDisk("vda", "8:0")


def cap(name: str, begun_bytes: int) -> Cap:
    return Cap(parse_profile("cap-13"), Path("/nowhere"), WholeDisk(name, "7:0"), DISK, begun_bytes=begun_bytes)


def test_several_are_counted_from_when_each_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = {"loop0": 1_000, "loop1": 50}
    monkeypatch.setattr(own_devices, "written_bytes_of", counters.get)
    devices = OwnDevices()
    assert devices.written_bytes() == 0
    with devices.counting(cap("loop0", 900)):
        assert devices.written_bytes() == 100, "what the file system wrote before it was mounted"
        with devices.counting(cap("loop1", 50)):
            counters |= {"loop0": 1_200, "loop1": 57}
            assert devices.written_bytes() == 307
        counters["loop1"] = 9_999  # somebody else's now
        assert devices.written_bytes() == 307
    with devices.counting(cap("loop0", 1_200)):
        counters["loop0"] = 1_201
        assert devices.written_bytes() == 308, "the same device, made again"
    del counters["loop0"]
    assert devices.written_bytes() == 308


def test_a_device_that_others_use_too_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_devices, "written_bytes_of", {"vda": 500}.get)
    devices = OwnDevices()
    for shared in (replace(cap("vda", 0), device=DISK), Cap(parse_profile("uncapped"), Path("/nowhere"))):
        with devices.counting(shared):
            assert devices.written_bytes() == 0
