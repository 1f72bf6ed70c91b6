"""Profiles, and which device a directory is on."""

from pathlib import Path

import pytest
from adocd_bench.errors import BadArgument, CapUnavailable
from adocd_bench.host.device import MB, UNCAPPED, WholeDisk, block_device_of, parse_profile, stands_for
from hypothesis import given
from hypothesis import strategies as st

from adocd.model.missing import Missing
from adocd.probes.mounts import read_mounts
from tests.bench.roots import tree


@pytest.mark.parametrize(("name", "mb_per_s"), [("cap-100", 100), ("cap-210", 210), ("cap-490", 490)])
def test_a_profile_caps_both_directions_in_decimal_megabytes(name: str, mb_per_s: int) -> None:
    profile = parse_profile(name)
    assert profile.write_bytes_per_s == profile.read_bytes_per_s == mb_per_s * 1_000_000
    assert profile.capped


def test_what_is_outside_the_cap_is_in_the_name() -> None:
    profile = parse_profile("cap-210-wal-outside")
    assert (profile.wal_outside, profile.speed, profile.write_bytes_per_s) == (True, "cap-210", 210_000_000)
    whole = parse_profile("cap-210")
    assert (whole.wal_outside, whole.speed) == (False, "cap-210")


@pytest.mark.parametrize(
    ("name", "scale", "device"),
    [
        ("cap-210", 1, "cap-210"),
        ("cap-13", 16, "cap-210"),
        ("cap-31", 16, "cap-490"),
        ("cap-15", 32, "cap-490"),
        ("cap-490-wal-outside", 1, "cap-490"),
        ("cap-13", 1, "cap-13"),
        ("cap-14", 16, "cap-14"),
        ("cap-100-wal-outside", 2, "cap-100"),
        ("uncapped", 16, "uncapped"),
    ],
)
def test_a_scaled_cap_stands_for_the_device_that_it_is_a_copy_of(name: str, scale: int, device: str) -> None:
    assert stands_for(parse_profile(name), scale) == device


def test_uncapped_caps_nothing() -> None:
    assert parse_profile("uncapped") is UNCAPPED
    assert not UNCAPPED.capped


@given(st.integers(min_value=1, max_value=1_000_000))
def test_every_whole_figure_is_a_profile(mb_per_s: int) -> None:
    assert parse_profile(f"cap-{mb_per_s}").write_bytes_per_s == mb_per_s * MB


@pytest.mark.parametrize(
    "name", ["", "cap", "cap-", "cap-0", "cap-010", "cap--5", "cap-2.5", "cap-210MB", "cap-1000001", "ssd", "cap-5-wal"]
)
def test_other_names_are_refused_with_what_to_use(name: str) -> None:
    with pytest.raises(
        BadArgument, match=r"use cap-N with N in MB/s, such as cap-210, cap-N-wal-outside, or uncapped$"
    ):
        parse_profile(name)


@pytest.mark.parametrize(
    ("kernel", "directory", "device"),
    [
        ("whole-disk", "/", WholeDisk("vda", "254:0")),
        ("whole-disk", "/not/there/yet", WholeDisk("vda", "254:0")),
        ("server", "/var/lib/db", WholeDisk("sda", "8:0")),
        ("server", "/srv/databases", WholeDisk("dm-0", "252:0")),
        ("server", "/srv/databases/a/b", WholeDisk("dm-0", "252:0")),
        ("server", "/srv/databases2", WholeDisk("sda", "8:0")),
        ("server", "/srv/btrfs/db", WholeDisk("sda", "8:0")),
        ("server", "/srv/my disk/db", WholeDisk("sda", "8:0")),
        ("container", "/data/db", WholeDisk("nvme0n1", "259:0")),
    ],
)
def test_a_directory_is_traced_to_its_whole_disk(kernel: str, directory: str, device: WholeDisk) -> None:
    assert block_device_of(Path(directory), tree(kernel)) == device


@pytest.mark.parametrize(
    ("kernel", "directory", "reason"),
    [
        ("whole-disk", "/dev/shm/db", "is in memory (tmpfs)"),
        ("server", "/tmp", "is in memory (tmpfs)"),
        ("server", "/srv/nfs/db", "is on nfs4 (filer:/export)"),
        ("server", "/srv/zpool/db", "is on zfs (zpool)"),
        ("container", "/tmp", "is on a container's overlay"),
        ("no-such-tree", "/", "does not say what"),
    ],
)
def test_a_directory_without_a_disk_is_refused_with_the_ways_out(kernel: str, directory: str, reason: str) -> None:
    with pytest.raises(CapUnavailable) as refusal:
        block_device_of(Path(directory), tree(kernel))
    sentence = str(refusal.value)
    assert reason in sentence
    assert "--directory" in sentence
    assert "--profile uncapped" in sentence
    assert "\n" not in sentence


def test_mount_points_are_unescaped() -> None:
    mounts = read_mounts(tree("server").proc)
    assert not isinstance(mounts, Missing)
    assert Path("/srv/my disk") in [mount.point for mount in mounts]
