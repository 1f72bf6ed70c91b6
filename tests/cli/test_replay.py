"""`record` and `replay`, as a user runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from adocd.api.client import NoDaemon, NotInTime, RestClient, RestError
from adocd.cli.exits import Exit
from adocd.cli.record import _follow, _look_s
from adocd.controllers import registry
from adocd.model.policy import Policy
from adocd.recording.format import SEEN, Rule, Seen
from adocd.recording.lines import LineFile
from adocd.recording.writer import Recorder
from tests.cli.harness import BIN, adocctl_json, command, environment_of, serving, wait_for_target
from tests.controllers.laws import PARAMETERS
from tests.daemon.harness import overflowing
from tests.recording.made import ABOUT, HEADER, looks, write
from tests.support.fake_agent import FakeAgent
from tests.support.full_disk import can_mount, on_small_disk
from tests.support.waiting import PATIENCE_S, eventually

KNOWN = {"same_again", "unchanged", "samples", "seconds", "policy", "decisions", "note", "idle", "left_out", "gaps"}


def replay(run_dir: Path, file: Path, law: str, *arguments: str) -> dict[str, Any]:
    """Replay it for JSON, which is the last line."""
    done = command("adocctl", "replay", str(file), "--policy", law, *arguments, "--json", run_dir=run_dir)
    found: dict[str, Any] = json.loads(done.ok().splitlines()[-1])
    return found


def parameters(law: str) -> list[str]:
    given = PARAMETERS.get(law, {}).items()
    return [word for name, value in given for word in ("--set", f"{name}={json.dumps(value)}")]


def lines_of(file: Path, kind: str) -> list[Any]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [line["content"] for line in lines if line.get("kind") == kind]


#: So long every law finds something to do.
SECONDS = 600


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten minutes of `adoc` at work on a simulated database with a limiter, all in one file."""
    directory = tmp_path_factory.mktemp("simulated")
    file = directory / "adoc.jsonl"
    command(
        "adocctl", "simulate", "--policy", "adoc", "--seconds", str(SECONDS), "--rate-limiter", "150000000",
        "--record", str(file), run_dir=directory,
    ).ok()  # fmt: skip
    return file


# -- replay


def test_the_same_law_decides_the_same_again(simulated: Path, tmp_path: Path) -> None:
    """What the daemon did is in what was seen, so that the law's decisions come out one by one, to the word.

    Later they part: the daemon asks nobody while a change waits for a stall to end, and a replay does.
    """
    found = replay(tmp_path, simulated, "adoc")
    assert found.keys() >= KNOWN
    assert (found["policy"], found["samples"], found["seconds"], found["sessions"]) == (
        "adoc",
        SECONDS - 1,
        SECONDS - 1,
        1,
    )
    assert found["recorded"]["policies"] == ["adoc"]
    assert "not what would have happened" in found["note"]
    told = [record for record in lines_of(simulated, "decision") if record["rule"] in ("adoc.memory", "adoc.level0")]
    assert len(told) > 20
    members = ("monotonic_s", "rule", "signal", "reason", "settings", "changes")
    for asked, record in zip(found["decisions"][:8], told[:8], strict=True):
        # What the plan carries beside is no decision of the law's.
        record["changes"] = [each for each in record["changes"] if each["option"]["option"] != "bytes_per_sync"]
        assert {name: asked[name] for name in members} == {name: record[name] for name in members}


def test_what_the_device_can_write_is_known_of_a_simulation_alone(simulated: Path, tmp_path: Path) -> None:
    assert replay(tmp_path, simulated, "mimd")["parameters"] == {"max_bytes_per_s": 210_000_000}
    given = replay(tmp_path, simulated, "mimd", "--set", "max_bytes_per_s=400000000")
    assert given["parameters"] == {"max_bytes_per_s": 400_000_000}
    live = write(tmp_path / "live.jsonl", looks(5))
    sentence = command("adocctl", "replay", str(live), "--policy", "adoc+mimd", run_dir=tmp_path).failed(2)
    assert sentence == (
        "adocctl: adoc+mimd must be told what the device can write, which this recording does not know: "
        "--set mimd.max_bytes_per_s=BYTES_PER_S"
    )


@pytest.mark.parametrize("law", registry.LAWS)
def test_every_law_can_be_replayed(law: str, simulated: Path, tmp_path: Path) -> None:
    found = replay(tmp_path, simulated, law, *parameters(law))
    assert found["policy"] == law
    assert found["idle"] == [], "everything is modelled"
    assert bool(found["decisions"]) == (law != "fixed")
    for decided in found["decisions"]:
        assert decided["outcome"] == "refused" or decided["changes"] or decided["settings"]
        assert decided["signal"]
        assert 0 <= decided["time_s"] < SECONDS
    counted = found["same_again"]
    assert counted == sum(decided["same_again"] for decided in found["decisions"])
    if law == "fixed":
        assert (found["decisions"], counted) == ([], 0)


def test_the_same_file_gives_the_same_replay(simulated: Path, tmp_path: Path) -> None:
    arguments = ("--set", "threads_max=6", "--shape", "pacing_s=5")
    first, second = (replay(tmp_path, simulated, "adoc", *arguments) for _ in range(2))
    assert first["decisions"]
    assert first == second
    assert first["parameters"] == {"threads_max": 6}
    assert first["shaping"] == {"step_factor": 0, "pacing_s": 5, "refractory_s": 0, "judge_s": 0}
    assert any(note.startswith("pacing: ") for decided in first["decisions"] for note in decided["guards"])


@pytest.mark.parametrize(("law", "apart_s"), [("adoc", 1.0), ("tide", 0.1), ("nobody", 1.0)])
def test_a_law_that_events_wake_is_recorded_as_often_as_it_can_be(law: str, apart_s: float) -> None:
    assert _look_s(Seen(1, 1.0, "/data/db", "attached", Rule(Policy(law), None))) == pytest.approx(apart_s)


def test_a_packed_recording_is_the_same(tmp_path: Path) -> None:
    for name in ("r.jsonl", "r.jsonl.gz"):
        command("adocctl", "simulate", "--seconds", "300", "--record", str(tmp_path / name), run_dir=tmp_path).ok()
    plain, packed = (replay(tmp_path, tmp_path / name, "adoc") for name in ("r.jsonl", "r.jsonl.gz"))
    assert plain.pop("file") != packed.pop("file")
    assert plain["decisions"]
    assert plain == packed
    assert (tmp_path / "r.jsonl.gz").stat().st_size < (tmp_path / "r.jsonl").stat().st_size / 5


def test_a_person_is_told_what_it_is_not(tmp_path: Path) -> None:
    file = write(tmp_path / "r", looks(21))
    shown = command("adocctl", "replay", str(file), "--policy", "adoc", run_dir=tmp_path).ok()
    assert "adoc on /data/db, RocksDB 7.8.3: 20 samples over 20.0 s" in shown
    assert "not what would have happened" in shown
    assert "batch_size 128 MiB (default)" in shown
    assert "write_buffer_size (default) 67108864" in shown
    assert "19 times it repeated a decision" in shown


def test_the_figures_of_a_damaged_recording(tmp_path: Path) -> None:
    file = write(tmp_path / "r", looks(21), ends=False)
    lines = file.read_bytes().splitlines(keepends=True)
    lines[10] = b'{"kind":"snap\n'
    file.write_bytes(b"".join(lines)[:-40])
    found = replay(tmp_path, file, "adoc")
    assert (found["damaged_lines"], found["torn"], found["samples"]) == (1, True, 18)
    assert found["recorded"]["ended"] is None
    shown = command("adocctl", "replay", str(file), "--policy", "adoc", run_dir=tmp_path).ok()
    assert "1 lines of the recording are damaged" in shown
    assert "is truncated: it is replayed" in shown


@pytest.mark.parametrize(
    ("content", "arguments", "status", "words"),
    [
        (None, ("--policy", "adoc"), 2, "there is no file"),
        ("", ("--policy", "adoc"), 1, "is empty"),
        ("Dear diary,\n", ("--policy", "adoc"), 1, "is no recording of adocd's"),
        ('{"format":"adocd recording","version":9}\n', ("--policy", "adoc"), 1, "is a recording of format version 9"),
        ("recording", ("--policy", "nobody"), 2, "there is no controller 'nobody'"),
        ("recording", ("--policy", "adoc", "--set", "thread_max=4"), 2, "adoc has no parameter 'thread_max'"),
        ("recording", ("--policy", "mimd"), 2, "mimd must be told what the device can write"),
        (
            "recording",
            ("--policy", "adoc", "--shape", "pace=4"),
            2,
            "there are step_factor, pacing_s, refractory_s, judge_s",
        ),
        ("recording", ("--policy", "adoc", "--shape", "step_factor=1"), 2, "step_factor must be more than 1"),
    ],
)
def test_a_mistake_is_one_sentence(
    content: str | None, arguments: tuple[str, ...], status: int, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "r"
    if content == "recording":
        write(file, looks(3))
    elif content is not None:
        file.write_text(content)
    command("adocctl", "replay", str(file), *arguments, run_dir=tmp_path).failed(status, words)


def test_a_file_that_cannot_be_looked_at_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 300)
    command("adocctl", "replay", str(file), "--policy", "adoc", run_dir=tmp_path).failed(1, "cannot be read: ")


# -- record


@contextmanager
def recording(run_dir: Path, file: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Record while the block runs; whoever has not ended it by then does not care how it ends."""
    process = subprocess.Popen(
        [str(BIN / "adocctl"), "record", str(file), *arguments],
        stderr=subprocess.PIPE, text=True, env=environment_of(run_dir),
    )  # fmt: skip
    try:
        eventually(file.exists, what="it records")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def test_a_policy_that_is_set_while_it_records(run_dir: Path) -> None:
    """The law decides first on the recording what it has decided first in the daemon."""
    file = run_dir / "live.jsonl"
    with FakeAgent(run_dir, [overflowing(run_dir / "db")]), serving(run_dir):
        wait_for_target(run_dir)
        with recording(run_dir, file) as process:
            eventually(lambda: len(lines_whole(file)) > 4, what="snapshots")
            command("adocctl", "set-policy", "adoc", "--set", "tune_threads=false", run_dir=run_dir).ok()
            eventually(lambda: '"outcome":"applied"' in file.read_text(), what="the decision is in the file")
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, said
            assert "snapshots" in said
        told = [d for d in adocctl_json(run_dir, "decisions") if d["rule"] == "adoc.memory"]
    found = replay(run_dir, file, "adoc", "--set", "tune_threads=false")
    assert found["recorded"]["policies"] == ["fixed", "adoc"]
    assert found["recorded"]["ended"] == "it was stopped"
    assert found["recorded"]["decisions"] >= 1
    assert (found["gaps"], found["damaged_lines"], found["torn"]) == (0, 0, False)
    for member in ("rule", "signal", "reason", "settings"):
        assert found["decisions"][0][member] == told[0][member]
    sequences = [snapshot["sequence"] for snapshot in lines_of(file, "snapshot")]
    assert sequences == sorted(set(sequences)), "none is there twice"


def lines_whole(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if '"kind":"snapshot"' in line]


def test_the_daemon_ends_and_what_was_recorded_stays(run_dir: Path) -> None:
    file = run_dir / "live.jsonl.gz"
    with FakeAgent(run_dir, [overflowing(run_dir / "db")]), serving(run_dir) as daemon:
        wait_for_target(run_dir)
        with recording(run_dir, file, "db") as process:
            eventually(lambda: replay(run_dir, file, "fixed")["samples"] > 1, every_s=1, what="samples")
            assert replay(run_dir, file, "fixed")["recorded"]["ended"] is None, "it is read while it is written"
            daemon.kill()
            _, said = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 3
            assert said.splitlines()[-1].startswith(f"adocctl: no daemon answers any more; {file} has ")
    found = replay(run_dir, file, "adoc")
    assert found["samples"] > 1
    assert found["recorded"]["ended"] == "no daemon answers any more"


def test_a_daemon_that_has_no_answer_now_is_asked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It counts its looks, so a recording of hours need not end with one answer that does not come."""
    first, *_, fourth = looks(4)
    rule, busy = Rule(Policy("fixed"), None), RestError(503, "all 64 connections are busy; try again")
    answers: list[Seen | Exception] = [
        Seen(1, 0.1, "/db", "attached", rule, ABOUT, first),
        NotInTime("the daemon is there and does not answer"),
        busy,
        busy,
        Seen(4, 0.1, "/db", "attached", rule, ABOUT, fourth),
        NoDaemon("it has ended"),
    ]

    class Client(RestClient):
        def get(self, path: str, **query: str | int) -> Any:  # noqa: ARG002
            if isinstance(answer := answers.pop(0), Exception):
                raise answer
            return json.loads(SEEN.dump_json(answer))

    recorder = Recorder(LineFile(tmp_path / "r"), HEADER)
    ended = _follow(Client(tmp_path / "daemon.sock"), "ed765b", recorder, threading.Event(), None)
    recorder.close()
    assert ended == ("no daemon answers any more", Exit.NO_DAEMON)
    assert (recorder.snapshots, recorder.missed) == (2, 2)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "adocctl: the daemon is there and does not answer; asking again",
        "adocctl: all 64 connections are busy; try again; asking again",
    ]


def test_a_database_that_is_opened_again_is_another_session(run_dir: Path) -> None:
    file = run_dir / "r"
    with serving(run_dir), ExitStack() as until_the_end:
        with FakeAgent(run_dir, [overflowing(run_dir / "db")]):
            wait_for_target(run_dir)
            process = until_the_end.enter_context(recording(run_dir, file))
            eventually(lambda: len(lines_whole(file)) > 2, what="snapshots")
        eventually(lambda: lines_of(file, "state")[-1] == "closed", what="it is closed")
        with FakeAgent(run_dir, [overflowing(run_dir / "db")]):
            before = len(lines_whole(file))
            eventually(lambda: len(lines_whole(file)) > before + 2, what="snapshots again")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0
    found = replay(run_dir, file, "adoc")
    assert (found["sessions"], found["gaps"]) == (2, 0)
    assert lines_of(file, "state") == ["attached", "closed", "attached"]
    assert len(found["decisions"]) == 2, "each session begins anew"


def test_a_recording_of_some_seconds_and_what_cannot_be(run_dir: Path) -> None:
    file = run_dir / "r"
    command("adocctl", "record", str(file), run_dir=run_dir).failed(3, "no daemon answers")
    with FakeAgent(run_dir, [overflowing(run_dir / "db")]), serving(run_dir):
        wait_for_target(run_dir)
        command("adocctl", "record", str(file), "nowhere", run_dir=run_dir).failed(4, "there is no target 'nowhere'")
        assert not file.exists()
        done = command("adocctl", "record", str(file), "--seconds", "2.5", run_dir=run_dir)
        assert done.ok() == ""
        assert f"{file} has " in done.err
        command("adocctl", "record", str(file), run_dir=run_dir).failed(1, "exists already")
    assert replay(run_dir, file, "fixed")["samples"] in (1, 2, 3)


def test_a_full_disk_is_one_sentence_and_leaves_what_fits(tmp_path: Path) -> None:
    """A limit on the file's size stands for the disk where nothing can be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    file = disk / "r.jsonl"
    wanted = [str(BIN / "adocctl"), "simulate", "--seconds", "3600", "--record", str(file)]
    if can_mount(disk):
        fill = f'head -c 63M /dev/zero > {disk}/ballast; "$@"; status=$?; cp {file} {tmp_path}/r.jsonl; exit $status'
        limited = [*map(str, on_small_disk(disk)), "bash", "-c", fill, "bash", *wanted]
    else:
        limited = ["bash", "-c", f'ulimit -f 1024; "$@"; status=$?; cp {file} {tmp_path}/r.jsonl; exit $status', "bash",
                   *wanted]  # fmt: skip
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    (sentence,) = done.stderr.strip().splitlines()
    assert sentence.startswith(f"adocctl: {file} cannot be written on: ")
    assert 100 < replay(tmp_path, tmp_path / "r.jsonl", "adoc")["samples"] < 3600
