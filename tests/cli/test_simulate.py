"""`simulate`, as a user runs it: without daemon, agent or RocksDB."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .harness import command


def simulate(run_dir: Path, *arguments: str, program: str = "adocctl") -> dict[str, Any]:
    """Run it for JSON: its last line, with what the lines before it say."""
    out = command(program, "simulate", *arguments, "--json", run_dir=run_dir).ok()
    *parts, last = map(json.loads, out.splitlines())
    return {**last, "parts": [line["part"] for line in parts]}


@pytest.mark.parametrize("program", ["adocctl", "adocd"])
def test_the_figures(program: str, tmp_path: Path) -> None:
    found = simulate(tmp_path, "--policy", "adoc", "--profile", "cap-210", "--seconds", "600", program=program)
    assert found["simulated_s"] == 600
    assert found["writes_per_s"] > 0
    assert found["decisions"] > 0
    assert 0 < found["stalled_fraction"] < 1
    assert set(found["stall_s"]) == {"memtable", "l0", "pending_bytes"}
    assert sum(found["stall_s"].values()) == pytest.approx(found["stalled_fraction"] * 600)
    assert found["elapsed_s"] > 0


def test_the_last_line_can_be_read(tmp_path: Path) -> None:
    out = command("adocctl", "simulate", "--policy", "adoc", "--seconds", "300", "--json", run_dir=tmp_path).ok()
    *parts, last = out.splitlines()
    needed = {"writes_per_s", "stalled_fraction", "stall_s", "decisions", "elapsed_s"}
    assert json.loads(last).keys() >= needed
    assert len(last) < 1000
    assert len(parts) == 72
    assert all(json.loads(line).keys() == {"part"} for line in parts)


def test_the_same_arguments_give_the_same_output(tmp_path: Path) -> None:
    arguments = ("--policy", "adoc", "--workload", "sine", "--seconds", "900")
    first, second = (simulate(tmp_path, *arguments) for _ in range(2))
    for each in (first, second):
        del each["elapsed_s"]  # the only figure of this machine
    assert first["decisions"] > 0
    assert len(first["parts"]) == 72
    assert first == second


def test_parameters_options_and_limiter_arrive(tmp_path: Path) -> None:
    found = simulate(
        tmp_path,
        *("--policy", "adoc", "--seconds", "600"),
        *("--set", "tune_batch=false", "--set", "threads_min=4", "--set", "threads_max=6"),
        *("--option", "write_buffer_size=32MiB", "--option", "max_background_jobs=4", "--tick", "2"),
        *("--rate-limiter", "50000000", "--workload", "constant", "--rate", "50"),
    )
    assert found["parameters"] == {"tune_batch": False, "threads_min": 4, "threads_max": 6}
    assert {part["batch_bytes"] for part in found["parts"]} == {32 << 20}
    assert {part["background_jobs"] for part in found["parts"]} == {4, 6}
    assert found["write_amplification"] > 1


def test_what_the_machine_was_measured_at_arrives(tmp_path: Path) -> None:
    plain, measured = (
        simulate(tmp_path, "--profile", "cap-100", "--seconds", "120", *more)
        for more in ((), ("--flush-rate", "80", "--compaction-rate", "60", "--wal-outside", "1"))
    )
    assert measured["stall_s"] != plain["stall_s"]
    assert measured["write_amplification"] < plain["write_amplification"], "the device writes no WAL"


#: Compactions that read a lot.
LOAD = ("--profile", "cap-100", "--seconds", "300", "--option", "max_background_jobs=8")


@pytest.fixture(scope="module")
def plain_per_s(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Writes per second of the load on a machine of which nothing is said."""
    return float(simulate(tmp_path_factory.mktemp("plain"), *LOAD)["writes_per_s"])


@pytest.mark.parametrize(
    "machine",
    [("--mixed-rate", "inf"), ("--reads-cached", "1"), ("--read-rate", "20", "--mixed-rate", "120"), ("--cores", "1")],
    ids=" ".join,
)
def test_what_reads_and_threads_cost_arrives(machine: tuple[str, ...], plain_per_s: float, tmp_path: Path) -> None:
    """Reads take from writes unless it is said otherwise, and threads wait for no core."""
    told = simulate(tmp_path, *LOAD, *machine)["writes_per_s"]
    assert (told > plain_per_s) == (machine[0] in ("--mixed-rate", "--reads-cached"))
    assert told != plain_per_s


def test_it_says_which_rocksdb_it_stands_for(tmp_path: Path) -> None:
    """9.8, which rocksdict has, merges level 0 by size, too."""
    told = " ".join(command("adocctl", "simulate", "--help", run_dir=tmp_path).ok().split())
    assert "RocksDB 7.8" in told
    assert "9.8" in told
    assert "bytes_per_sync has" in told
    assert "RocksDB 7.8" in command("adocctl", "simulate", "--seconds", "10", run_dir=tmp_path).ok()


def test_the_drawing(tmp_path: Path) -> None:
    shown = command("adocctl", "simulate", "--seconds", "300", run_dir=tmp_path).ok()
    lines = shown.splitlines()
    assert lines[0] == "fixed on cap-210, closed-loop, 5.0 min simulated"
    for signal in ("writes/s", "writers waited", "level-0 files", "pending", "background jobs", "batch"):
        (line,) = [line for line in lines if line.startswith(f"{signal} ") and "|" in line]
        assert len(line.split("|")[1]) == 72
    assert "background jobs |" + "█" * 72 + "| 2" in lines
    assert "docs/simulator.md" in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--policy", "nobody"), "there is no controller 'nobody'"),
        (("--policy", "adoc", "--set", "thread_max=4"), "thread_max"),
        (("--profile", "floppy"), "cap-210"),
        (("--workload", "storm"), "closed-loop, constant, sine, burst, peaks"),
        (("--seconds", "-5"), "-5"),
        (("--wal-outside", "50"), "outside the cap is 0 to 1, not 50"),
        (("--cores", "0"), "more than 0 cores, not 0"),
        (("--reads-cached", "2"), "the share of reads in the page cache is 0 to 1, not 2"),
        (("--option", "write_buffer_size"), "OPTION=VALUE"),
        (("--option", "no_such_option=1"), "no_such_option"),
        (("--option", "max_background_jobs=2", "--option", "max_background_jobs=4"), "gives max_background_jobs twice"),
    ],
)
def test_a_mistake_is_one_sentence(arguments: tuple[str, ...], word: str, tmp_path: Path) -> None:
    command("adocctl", "simulate", *arguments, run_dir=tmp_path).failed(2, word)
