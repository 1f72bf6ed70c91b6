"""The demo as a whole: what it refuses, and one real run from end to end."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from adocd_bench.demo.demo import WORKLOADS, DemoOptions, run_demo
from adocd_bench.demo.figures import FILE
from adocd_bench.errors import BadArgument, BenchError, CapUnavailable
from adocd_bench.host.cap import GROUP_PREFIX
from adocd_bench.run.workspace import PREFIX
from rich.console import Console

from tests.bench.roots import capping, tree

#: Runs the demo in a process of its own, as `adocd demo --json` does; status 3 is a refusal in one sentence.
DRIVER = """
import sys
from pathlib import Path
from adocd_bench.demo.demo import DemoOptions, run_demo
from adocd_bench.errors import BenchError
try:
    where = Path(sys.argv[2])
    picture, keep = where / "demo.svg", where / "demo.json"
    run_demo(DemoOptions(sys.argv[3], float(sys.argv[1]), sys.argv[4] or None, where, True, picture, keep))
except BenchError as error:
    sys.exit(print(error, file=sys.stderr) or 3)
"""


def _quiet() -> Console:
    return Console(file=io.StringIO())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (DemoOptions(on="mysql"), r"no workload 'mysql': use one of embedded, db_bench$"),
        (DemoOptions(seconds=1), r"--seconds must be from 5 to 86400, not 1$"),
        (DemoOptions(seconds=float("nan")), r"--seconds must be from 5 to 86400, not nan$"),
        (DemoOptions(profile="fast"), r"no device profile 'fast'"),
        (DemoOptions(directory=Path("/no/such/place")), r"/no/such/place is not a directory"),
    ],
)
def test_bad_options_are_refused_before_anything_starts(options: DemoOptions, sentence: str) -> None:
    out = _quiet()
    with pytest.raises(BadArgument, match=sentence):
        run_demo(options, out=out, err=_quiet())
    assert isinstance(out.file, io.StringIO)
    assert not out.file.getvalue()


def test_an_explicit_profile_that_cannot_be_had_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    options = DemoOptions(profile="cap-210", directory=tmp_path, seconds=5)
    with pytest.raises(CapUnavailable, match="--profile uncapped"):
        run_demo(options, out=_quiet(), err=_quiet(), roots=tree("container"))
    assert not list(tmp_path.iterdir())


def test_every_error_is_one_of_ours() -> None:
    assert issubclass(CapUnavailable, BenchError)
    assert issubclass(BadArgument, BenchError)


def _start(seconds: float, directory: Path, on: str, profile: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", DRIVER, str(seconds), str(directory), on, profile]
    environment = os.environ | {"TMPDIR": str(directory)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def _assert_nothing_is_left(pid: int, directory: Path) -> None:
    assert not list(directory.glob(f"{PREFIX}*"))
    assert not list(Path("/sys/fs/cgroup").glob(f"{GROUP_PREFIX}{pid}-*"))
    assert not list(Path("/sys/fs/cgroup/blkio").glob(f"{GROUP_PREFIX}{pid}-*"))
    for process in Path("/proc").glob("[0-9]*"):
        try:
            assert str(directory).encode() not in (process / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue


@pytest.mark.parametrize("on", WORKLOADS)
def test_a_real_run_measures_both_halves_and_leaves_nothing(disk: Path, on: str) -> None:
    # A slow device stalls a program that gets little of the processors, too; db_bench runs on the demo's own profile.
    profile = capping(disk, "cap-50") if on == "embedded" else ""
    with _start(5, disk, on, profile) as process:
        output, errors = process.communicate(timeout=120)
    _assert_nothing_is_left(process.pid, disk)
    assert process.returncode == 0, errors
    drawn = (disk / "demo.svg").read_text()
    assert "writer" in drawn
    assert "url(" not in drawn.replace("url(#", "")
    lines = output.splitlines()
    assert len(lines) == 1
    result = json.loads(lines[-1])
    expected = ("processors meanwhile", "running uncapped")
    assert [each for each in result["warnings"] if not any(words in each for words in expected)] == []
    assert result["on"] == on
    kept = FILE.read(disk / "demo.json").result
    assert json.loads(json.dumps(kept.as_json())) == result
    for policy in ("fixed", "adoc"):
        half = result[policy]
        assert half["writes"] > 0
        assert half["writes_per_s"] == pytest.approx(half["writes"] / half["seconds"], rel=0.02)
        assert half["seconds"] >= 5
        assert 0 <= half["worst_second_writes_per_s"] <= half["writes_per_s"] * 1.05
        assert 0 <= half["stalled_fraction"] < 1.5
    assert result["fixed"]["decisions"] == []
    fixed, adoc = result["fixed"], result["adoc"]
    assert result["throughput_ratio"] == pytest.approx(adoc["writes_per_s"] / fixed["writes_per_s"], rel=1e-3)
    assert result["throughput_ratio"] > 0.25, "it helps 2.5 times on a quiet machine; this much it may not hurt on any"
    # Each second of the database that fills is a line of its report; none may say more than there was.
    assert max(fixed["worst_second_writes_per_s"], adoc["worst_second_writes_per_s"]) > 0
    gone = 1 - adoc["stalled_fraction"] / fixed["stalled_fraction"] if fixed["stalled_fraction"] else None
    assert result["stall_reduction"] == (None if gone is None else pytest.approx(gone, rel=1e-2, abs=1e-3))
    assert {note["rule"].partition(".")[0] for note in adoc["decisions"]} <= {"adoc", "actuator"}
    for half in (kept.fixed, kept.adoc):
        assert min(half.writes_by_second) == half.worst_second_writes_per_s
        assert sum(half.writes_by_second) <= half.writes
    if profile.startswith("cap"):
        assert_the_law_acted(result)
    assert "fixed: starting" in errors
    assert "adoc: starting" in errors


def assert_the_law_acted(result: dict[str, Any]) -> None:
    """The law answers stalls, and its answers reach the database.

    The memtables are so small that writes stall at once. How much it helps in five seconds depends on what else the
    machine does, so no ratio is asserted but that of the writes that were counted.
    """
    assert result["fixed"]["stalled_fraction"] > 0, "nothing stalled, so nothing was shown"
    decided = [(note["rule"], note["outcome"]) for note in result["adoc"]["decisions"]]
    assert decided or result["adoc"]["stalled_fraction"] == 0, "both halves are the same: the law answered no stall"
    sent = [outcome for _, outcome in decided if outcome in {"applied", "in-flight"}]
    assert sent or not decided, f"nothing of what the law decided was sent: {decided}"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_either(disk: Path, number: signal.Signals) -> None:
    with _start(60, disk, "embedded") as process:
        deadline_s = time.monotonic() + 30
        while not list(disk.glob(f"{PREFIX}*/**/database/CURRENT")) and process.poll() is None:
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        assert process.poll() is None, "it ended by itself, and nothing was interrupted"
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    _assert_nothing_is_left(process.pid, disk)
    assert process.returncode not in (0, 3), errors
