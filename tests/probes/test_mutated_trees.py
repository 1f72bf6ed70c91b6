"""Whatever /proc and /sys say, a probe answers: it never raises, and what it lacks is a sentence."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adocd.model.missing import Missing
from adocd.probes.block_device import storage_of
from adocd.probes.diskstats import activity, read_devices
from adocd.probes.pressure import parse_pressure, pressure_activity, read_limits, read_pressure
from adocd.probes.process import process_activity, read_process
from tests.probes.kernel_tree import NAMES, entries, go_on, lay_out

PATHS = ("/", "/var/lib/db", "/srv/db", "/srv/circle", "/san", "/srv/btrfs", "/fast", "/tmp")
PIDS = (None, 700, 900, 4321, 4322)
NUMBERS = ("", "-1", "0", "4294967295", "18446744073709551615", "9" * 30, "9" * 5000, "max", "nan", "1e9", "٣")


@st.composite
def mutated(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Take one of the trees: drop entries, replace words, cut texts, swap files and lead links elsewhere."""
    parts = entries(draw(st.sampled_from(NAMES)))
    for _ in range(draw(st.integers(1, 4))):
        index = draw(st.integers(0, len(parts) - 1))
        heading, body = parts[index]
        what = draw(st.sampled_from(["drop", "word", "cut", "noise", "swap", "link"]))
        if what == "drop" and len(parts) > 1:
            del parts[index]
        elif what == "word" and body.split():
            word = draw(st.sampled_from(body.split()))
            body = body.replace(word, draw(st.sampled_from(NUMBERS)), 1)
            parts[index] = heading, body
        elif what == "cut":
            parts[index] = heading, body[: draw(st.integers(0, len(body)))]
        elif what == "noise":
            parts[index] = heading, draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
        elif what == "swap":
            parts[index] = heading, parts[draw(st.integers(0, len(parts) - 1))][1]
        elif what == "link" and " -> " in heading:
            target = draw(st.sampled_from([".", "..", "/", "nowhere", heading.rpartition("/")[2], "../../../.."]))
            parts[index] = f"{heading.partition(' -> ')[0]} -> {target}", ""
    return parts


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(), st.sampled_from(PATHS), st.sampled_from(PIDS))
def test_no_tree_makes_a_probe_raise(parts: list[tuple[str, str]], path: str, pid: int | None) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = lay_out(parts, Path(directory))
        storage = storage_of(Path(path), root, pid)
        assert storage.devices or storage.missing
        names = (*storage.names, "sda", "dm-0", "nope")
        disks = read_devices(names, 1.0, root)
        process, pressure = read_process(pid or 700, 1.0, root), read_pressure(pid or 700, 1.0, root)
        go_on(parts, root)
        disks_later = read_devices(names, 3.0, root)
        assert set(disks_later.devices) | set(disks_later.missing) == set(names)
        for found in activity(disks, disks_later).values():
            if not isinstance(found, Missing):
                assert 0 <= found.busy_fraction <= 1
                assert min(found.bytes_per_s, found.operations_per_s, found.mean_queue) >= 0
        process_later = read_process(pid or 700, 3.0, root)
        if not isinstance(process, Missing) and not isinstance(process_later, Missing):
            process_activity(process, process_later, 100)
        pressed = pressure_activity(pressure, read_pressure(pid or 700, 3.0, root))
        assert not isinstance(pressed, Missing)
        for stalled in (*pressed.machine.values(), *pressed.group.values()):
            assert 0 <= stalled.some_fraction <= 1
        read_limits(pid or 700, root)
        for sentence in (*storage.missing, *disks_later.missing.values(), *pressed.missing):
            assert sentence
            assert not sentence.endswith(".")


@given(st.text())
def test_any_pressure_file_is_read(text: str) -> None:
    parse_pressure(text)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_process_is_read(stat: str, status: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        task = Path(directory) / "proc/7/task/7"
        task.mkdir(parents=True)
        for place in (task, task.parents[1]):
            (place / "stat").write_text(f"7 ({stat}) S {stat}", encoding="utf-8", errors="replace")
            (place / "status").write_text(status, encoding="utf-8", errors="replace")
        read_process(7, 1.0, Path(directory))
