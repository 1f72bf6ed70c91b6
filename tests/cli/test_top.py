"""`adocctl top`: at a terminal, in a pipe, and while the daemon comes and goes."""

from __future__ import annotations

import signal
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from adocd.api.client import NoDaemon, NotInTime, RestClient, RestError
from adocd.cli.top import over_time, words
from adocd.cli.top.feed import Frame, TopFeed
from adocd.cli.top.keys import quits
from adocd.cli.top.screen import Screen, fits
from adocd.model.in_words import option_value
from tests.cli.harness import adocctl_json, command, no_traceback, serving, wait_for_target
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.daemon.harness import overflowing
from tests.support.fake_agent import FakeAgent
from tests.support.fake_daemon import Answer, FakeDaemon
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

JOURNAL = {"path": "/j", "problem": None, "rescued": None, "lost_decisions": 0}


def target(path: str, **members: Any) -> dict[str, Any]:
    return {
        "id": f"id-of-{path}", "path": path, "state": "attached", "paused": None, "stall": None,
        "process": {"program": "db_bench", "pid": 7, "rocksdb_version": "7.8.3"},
        "policy": {"controller": "adoc", "parameters": {}, "dry_run": False, "shaping": {}},
        "sentence": "adoc: nothing to do", "writes_per_s": 1234.0, "condition": "normal", "decisions": 0,
    } | members  # fmt: skip


def detail(path: str, **members: Any) -> dict[str, Any]:
    more = {"session": "s", "sample": None, "around": None, "options": None, "originals": None, "restore": None}
    return target(path) | more | {"last_decision": None} | members


def drawn(frame: Frame, *, columns: int = 80, lines: int | None = None) -> list[str]:
    output = StringIO()
    console = Console(file=output, width=columns, highlight=False, markup=False)
    console.print(Screen(frame, "/run/adocd", live=lines is not None, height=lines), end="")
    return output.getvalue().split("\n")


class Rest(RestClient):
    """Answers as it is told."""

    def __init__(self) -> None:
        self.details = [detail("/db")]
        self.is_there = True
        self.error: NoDaemon | RestError | None = None
        self.points: list[dict[str, Any]] = []
        self.asked_from: list[float] = []

    def get(self, path: str, **query: str | int) -> Any:
        """Read."""
        if not self.is_there:
            raise NoDaemon("no daemon answers at /run/adocd/daemon.sock")
        if self.error is not None:
            raise self.error
        if path == "/v1/targets":
            return {"targets": [dict(each) for each in self.details], "problems": {}, "journal": JOURNAL}
        if path.endswith("/history"):
            self.asked_from.append(float(query["from_unix_s"]))
            return {"points": [each for each in self.points if each["unix_s"] >= self.asked_from[-1]]}
        if path.endswith(("/decisions", "/overrides")):
            return {"decisions": [], "overrides": []}
        return next(each for each in self.details if path == f"/v1/targets/{each['id']}")


# -- with a real daemon


def test_at_a_terminal_over_a_daemon_that_is_killed_and_comes_back(run_dir: Path) -> None:
    with FakeAgent(run_dir, [overflowing(run_dir / "db")]), PseudoTerminal("top", run_dir=run_dir) as terminal:
        with serving(run_dir, "--policy", "adoc") as daemon:
            terminal.shows("adoc.memory")
            terminal.shows("memtable 64 MiB → ")
            terminal.shows("adocctl restore --all")
            daemon.kill()
            daemon.wait(60)
            terminal.shows("NO DAEMON since")
            terminal.forget()
            terminal.shows("/db")  # what was seen last stays
        with serving(run_dir):
            terminal.shows("The daemon has answered again")
            terminal.press("q")
            assert terminal.ends() == 0
            assert terminal.settings_now == terminal.before
            assert "\x1b[?1049l" in terminal.output, "the screen from before is back"


def test_ctrl_c_ends_it_well(run_dir: Path) -> None:
    with PseudoTerminal("top", run_dir=run_dir) as terminal:
        terminal.shows("NO DAEMON")
        terminal.press("\x03")
        assert terminal.ends() == 0
        assert terminal.settings_now == terminal.before
        assert "Traceback" not in terminal.output


@pytest.mark.parametrize(
    ("typed", "ends"),
    [
        ("q", True), ("Q", True), ("\x04", True), ("qq", True), ("jq", True), ("\x1b[Aq", True),
        ("", False), ("j", False), ("\x1b[A", False), ("\x1bOQ", False), ("\x1b[15~", False),
    ],
)  # fmt: skip
def test_keys_that_were_pressed_while_it_waited_are_read_together(typed: str, ends: bool) -> None:
    assert quits(typed) == ends


def test_a_key_ends_it_over_a_daemon_that_takes_longer_than_a_refresh(run_dir: Path) -> None:
    def slowly(*_: Any) -> Answer:
        time.sleep(0.5)
        return 200, {"targets": [], "problems": {}, "journal": JOURNAL}

    with (
        FakeDaemon(run_dir, {"/v1/targets": slowly}),
        PseudoTerminal("top", "--interval", "0.2", run_dir=run_dir) as terminal,
    ):
        terminal.shows("No database to show")
        terminal.press("q")
        assert terminal.ends() == 0


def test_sigterm_leaves_the_terminal_as_it_was(run_dir: Path) -> None:
    with PseudoTerminal("top", run_dir=run_dir) as terminal:
        terminal.shows("NO DAEMON")
        terminal.process.terminate()
        assert terminal.ends() == 128 + signal.SIGTERM
        assert terminal.settings_now == terminal.before
        assert "\x1b[?1049l" in terminal.output, "the screen from before is back"
        assert "Traceback" not in terminal.output


def measured(shown: str) -> str:
    """Return what is shown once the first window has been measured; "" before."""
    return shown if "L0 files" in shown else ""


def test_in_a_pipe_it_looks_once(run_dir: Path) -> None:
    with FakeAgent(run_dir, [overflowing(run_dir / "db"), FakeDatabase(run_dir / "other")]), serving(run_dir):
        wait_for_target(run_dir)
        eventually(lambda: len(adocctl_json(run_dir, "targets")["targets"]) == 2, what="two targets")
        shown = command("adocctl", "top", run_dir=run_dir).ok()
        assert f"{run_dir}/db" in shown
        assert f"{run_dir}/other" in shown
        assert "2 open" in shown
        one = eventually(lambda: measured(command("adocctl", "top", "other", "--once", run_dir=run_dir).ok()))
        assert f"{run_dir}/db" not in one
        content = adocctl_json(run_dir, "top", "--once")
        assert {t["path"] for t in content["targets"]} == {f"{run_dir}/db", f"{run_dir}/other"}
        assert content["problem"] is None
        for each in content["targets"]:
            assert each["options"]["column_families"]["default"]["write_buffer_size"] == str(64 << 20)
            assert {"waited_fraction", "background_jobs", "last_decision"} <= each.keys()
        command("adocctl", "top", "third", "--once", run_dir=run_dir).failed(4, "there is no target 'third'")
    no_traceback(run_dir)


@pytest.mark.parametrize("more", [(), ("--once",), ("--once", "--json")])
def test_once_without_a_daemon(run_dir: Path, more: tuple[str, ...]) -> None:
    command("adocctl", "top", *more, run_dir=run_dir).failed(3, "no daemon answers at", "start one by `adocd serve`")


# -- what is on the screen


def test_never_more_than_a_terminal_has() -> None:
    many = [detail(f"/var/lib/{'long/' * 30}{n}") for n in range(40)]
    shown = fits(24)
    frame = Frame(1000.0, tuple(many), {}, JOURNAL, {t["id"]: t for t in many[:shown]})
    lines = drawn(frame, lines=24)
    assert len(lines) == 24
    assert all(len(line) <= 80 for line in lines)
    assert "adocctl restore --all" in lines[-1]
    assert f"{40 - shown} more" in "\n".join(lines)


def test_one_target_with_everything_fits_too() -> None:
    stall = {"condition": "stopped", "since_unix_s": 990.0, "why": "level 0 has 36 files; " * 20, "causes": []}
    one = detail("/db", stall=stall, around="vda is busy; " * 30)
    decision = {
        "sequence": 1, "unix_s": 999.0, "monotonic_s": 1.0, "rule": "adoc.l0", "outcome": "applied",
        "signal": "s" * 300, "changes": [],
        "settings": [{"knob": "batch_size", "column_family": None, "value": 128 << 20}],
    }  # fmt: skip
    frame = Frame(1000.0, (one,), {}, JOURNAL, {one["id"]: one}, decisions=(decision,) * 50, problem="gone " * 60)
    lines = drawn(frame, lines=24)
    assert len(lines) == 24
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("writes are stopped for 10 s: level 0 has 36 files") for line in lines)
    assert any("adoc.l0: batch_size 128 MiB: applied" in line for line in lines)


def test_what_is_known_of_a_silent_database_is_called_old() -> None:
    sample = {
        "writes_per_s": 52_301.0, "waited_fraction": 0.5, "stopped_fraction": 0.0, "delayed_fraction": 1.0,
        "column_families": [], "background_jobs": None,
    }  # fmt: skip
    silent = detail("/db", state="silent", sample=sample, writes_per_s=None)
    assert "what was known before" in "\n".join(drawn(Frame(1000.0, (silent,), {}, JOURNAL, {silent["id"]: silent})))
    both = {each["id"]: each for each in (silent, detail("/other", sample=sample))}
    lines = drawn(Frame(1000.0, tuple(both.values()), {}, JOURNAL, both))
    assert ["50%" in line for line in lines if line.endswith(("/db", "/other"))] == [False, True]


@pytest.mark.parametrize("lines", [1, 2, 3, 5, 8, 24])
def test_the_problems_of_a_fleet_leave_room_for_the_databases(lines: int) -> None:
    """Each of forty agents that speak another version is a sentence of two lines."""
    said = "it speaks version 2.0 of the admin protocol; " * 2
    problems = {f"/run/adocd/agent-{pid}.sock": said for pid in range(40)}
    two = [detail("/db"), detail("/other")]
    for targets in (two, two[:1]):
        frame = Frame(1000.0, tuple(targets), problems, JOURNAL, {t["id"]: t for t in targets})
        shown = drawn(frame, lines=lines)
        assert len(shown) == lines
        assert "q quits" in shown[-1]
        if lines == 24:
            assert any("37 more like this: adocctl targets lists all" in line for line in shown)
            assert any("/db" in line for line in shown)
        assert sum("agent-" in line for line in drawn(frame)) == 40, "in a pipe there is room for all"


def test_pins_and_a_pause_are_told_in_full() -> None:
    one = detail("/db", paused="root restored the originals; resume or set a policy to let a law decide again")
    pin = {
        "option": "write_buffer_size", "column_family": None, "value": str(96 << 20), "remaining_s": 7200.0,
        "who": "alice", "reason": "a bulk load", "ineffective": "the target is paused by a restore",
    }  # fmt: skip
    text = " ".join(" ".join(drawn(Frame(1.0, (one,), {}, JOURNAL, {one["id"]: one}, overrides=(pin,)))).split())
    assert "paused root restored the originals; resume or set a policy to let a law decide again" in text
    assert (
        "pinned write_buffer_size = 96 MiB for 2.0 h by alice (a bulk load): not in force, the target is paused" in text
    )


def test_names_cannot_steer_the_terminal() -> None:
    one = detail("/db\x1b[2J", paused="\x1b]0;mine\x07[red]")
    text = "\n".join(drawn(Frame(1000.0, (one,), {}, JOURNAL, {one["id"]: one})))
    assert "\x1b" not in text
    assert "[red]" in text


def test_the_worst_come_first() -> None:
    rest = Rest()
    rest.details = [
        detail("/a", state="closed"), detail("/b"), detail("/c", condition="delayed"),
        detail("/d", condition="stopped"),
    ]  # fmt: skip
    frame = TopFeed(rest, None).ask()
    assert [t["path"] for t in frame.targets] == ["/d", "/c", "/b", "/a"]
    assert "3 open, 2 stalled" in drawn(frame)[0]


# -- over time


def point(unix_s: float, **members: Any) -> dict[str, Any]:
    return {
        "unix_s": unix_s, "interval_s": 1.0, "writes_per_s": 100.0, "stopped_fraction": 0.0, "delayed_fraction": 0.0,
        "l0_files": 3, "immutable_memtables": 0, "pending_compaction_bytes": None,
    } | members  # fmt: skip


def test_the_last_quarter_of_an_hour_is_there_at_the_first_look() -> None:
    rest, now = Rest(), [10_000.0]
    rest.points = [point(float(at_s)) for at_s in range(8_000, 10_001)]
    feed = TopFeed(rest, "db", wall_clock=lambda: now[0])
    first = feed.ask().points
    assert (first[0]["unix_s"], first[-1]["unix_s"], len(first)) == (9_100.0, 10_000.0, 901)
    now[0], rest.points = 10_002.0, [point(10_001.0), point(10_002.0)]  # another daemon, which knows nothing of it
    assert [each["unix_s"] for each in feed.ask().points] == [float(at_s) for at_s in range(9_103, 10_003)]
    assert rest.asked_from == [9_100.0, 10_000.0], "only what is new"
    rest.details = [detail("/db", id="another")]
    assert [each["unix_s"] for each in feed.ask().points] == [10_001.0, 10_002.0]


def test_it_goes_on_after_the_wall_clock_was_set_back() -> None:
    rest, now = Rest(), [10_000.0]
    rest.points = [point(float(at_s)) for at_s in range(9_500, 10_001)]
    feed = TopFeed(rest, "db", wall_clock=lambda: now[0])
    assert feed.ask().points[-1]["unix_s"] == 10_000.0
    now[0], rest.points = 9_401.0, [point(9_400.0), point(9_401.0)]
    assert [each["unix_s"] for each in feed.ask().points] == [9_400.0, 9_401.0]


def test_a_short_stall_does_not_vanish_in_a_wide_column() -> None:
    points = [point(1000.0 + at_s, stopped_fraction=float(at_s == 50)) for at_s in range(900)]
    points[50]["writes_per_s"] = 0.0
    slots = over_time.slots(points, 1899.0, 9)
    assert [len(slot) for slot in slots] == [100] * 9
    assert over_time.most(slots, lambda each: each["stopped_fraction"]) == [1.0] + [0.0] * 8
    assert over_time.mean(slots, "writes_per_s") == [99.0] + [100.0] * 8
    assert over_time.most(slots, lambda each: each["pending_compaction_bytes"]) == [None] * 9
    later = over_time.slots(points, 1999.0, 9)
    assert later[:8] == slots[1:], "columns move, and do not change"
    assert later[8] == []
    assert over_time.marks([999.0, 1000.0, 1899.0], 1899.0, 9) == "^       ^"


def test_lines_over_time_end_now() -> None:
    family = {
        "name": "default", "l0_files": 4, "immutable_memtables": 0, "pending_compaction_bytes": 0,
        "options": {
            "level0_slowdown_writes_trigger": 20, "level0_stop_writes_trigger": 36, "max_write_buffer_number": 2,
            "soft_pending_compaction_bytes_limit": 0,
        },
    }  # fmt: skip
    sample = {
        "writes_per_s": 100.0, "stopped_fraction": 0.0, "delayed_fraction": 0.0, "waited_fraction": 0.0,
        "column_families": [family],
        "write_latency": {"p50_s": 6.5e-6, "p99_s": 15e-6, "p99_9_s": 73e-6, "max_s": 1.25, "why": None},
    }  # fmt: skip
    one = target("/db", sample=sample, around=None)
    points = tuple(point(9_000.0 + at_s, stopped_fraction=1.0) for at_s in range(450, 1000))
    frame = Frame(9_999.0, (one,), {}, JOURNAL, {one["id"]: one}, points=points)
    shown = drawn(frame, columns=97)
    lines = {line[:11].strip(): line[36:] for line in shown}
    assert lines["waited"].rstrip().count("█") in (36, 37), "550 of 900 s are 37 of 60 columns"
    assert lines["waited"].startswith(" " * 20)
    assert lines["writes/s"].endswith("█")
    assert any("latency" in line and "p99.9 73 µs, worst 1.25 s" in line for line in shown)
    (axis,) = [line[36:] for line in shown if "min ago" in line]
    assert (axis.split(), axis.startswith("15 min ago"), len(axis)) == (["15", "min", "ago", "now"], True, 60)


# -- the daemon comes and goes


def test_what_was_seen_last_stays_while_the_daemon_is_away() -> None:
    now = [1000.0]
    rest = Rest()
    feed = TopFeed(rest, None, wall_clock=lambda: now[0])
    assert feed.ask().problem is None
    rest.details[0] |= {"state": "closed"}  # a daemon that ends lets go before it does not answer
    now[0] = 1001.0
    assert feed.ask().targets[0]["state"] == "closed"
    rest.is_there = False
    for now[0] in (1002.0, 1010.0):
        frame = feed.ask()
        assert frame.targets[0]["state"] == "attached"
        assert frame.unix_s == 1000.0
        assert frame.problem_since_unix_s == 1002.0
    assert any("NO DAEMON since" in line for line in drawn(frame))
    rest.is_there, now[0] = True, 1020.0
    frame = feed.ask()
    assert (frame.problem, frame.back_unix_s, frame.unix_s) == (None, 1020.0, 1020.0)
    assert any("answered again" in line for line in drawn(frame))
    now[0] = 1060.0
    assert not any("answered again" in line for line in drawn(feed.ask()))


@pytest.mark.parametrize(
    ("error", "title", "agents_undo"),
    [
        (NoDaemon("no daemon answers"), "NO DAEMON since", True),
        (NotInTime("the daemon is there and does not answer"), "NO ANSWER since", False),
        (RestError(503, "all 64 connections are busy; try again"), "NO ANSWER since", False),
    ],
)
def test_a_daemon_that_is_there_is_not_said_to_be_gone(
    error: NoDaemon | RestError, title: str, agents_undo: bool
) -> None:
    rest = Rest()
    feed = TopFeed(rest, None)
    feed.ask()
    rest.error = error
    text = "\n".join(drawn(feed.ask()))
    assert title in text
    assert str(error) in text
    assert ("their agents undo the changes" in text) is agents_undo


def test_in_a_pipe_a_daemon_that_is_there_is_not_said_to_be_gone(run_dir: Path) -> None:
    busy: Answer = (503, {"detail": "all 64 connections are busy; try again"})
    with FakeDaemon(run_dir, {"/v1/targets": busy}):
        for more in ((), ("--once",)):
            command("adocctl", "top", *more, run_dir=run_dir).failed(5, "all 64 connections are busy")


def test_a_database_that_is_made_anew_under_its_path_is_looked_at() -> None:
    rest = Rest()
    rest.details = [detail("/db", id="old", state="closed"), detail("/db", id="new")]
    assert [t["id"] for t in TopFeed(rest, "db").ask().targets] == ["new"]


@pytest.mark.parametrize(
    ("values", "line"),
    [([0.0, 1.0, 4.0, 8.0], " ▂▅█"), ([None, 0.5], " █"), ([], ""), ([0.0, None], "  ")],
)
def test_a_line_over_time(values: list[float | None], line: str) -> None:
    assert words.sparkline(values) == line


@pytest.mark.parametrize(
    ("option", "text", "shown"),
    [
        ("write_buffer_size", str(128 << 20), "128 MiB"),
        ("level0_stop_writes_trigger", str(1 << 30), "out of the way"),
        ("level0_stop_writes_trigger", "36", "36"),
        ("disable_auto_compactions", "true", "true"),
        ("delayed_write_rate", str(16 << 20), "16 MiB/s"),
        ("soft_pending_compaction_bytes_limit", "0", "0"),
    ],
)
def test_a_value_by_its_unit(option: str, text: str, shown: str) -> None:
    assert option_value(option, text) == shown


def test_json_is_a_line_for_each_look(run_dir: Path) -> None:
    with serving(run_dir), PseudoTerminal("top", "--json", "--interval", "0.2", run_dir=run_dir) as terminal:
        terminal.shows('"problem": null')
        terminal.forget()
        terminal.shows('"problem": null')
        terminal.press("\x03")
        assert terminal.ends() == 0


def test_a_rate_limit_that_was_changed_is_shown() -> None:
    none: dict[str, Any] = {"database": {}, "column_families": {}}
    now, then = none | {"rate_limiter_bytes_per_s": 8_000_000}, none | {"rate_limiter_bytes_per_s": 400_000_000}
    assert words.knobs(detail("/db", options=now, originals=then)) == (
        f"rate_limiter_bytes_per_s {option_value('rate_limiter_bytes_per_s', '400000000')} → "
        f"{option_value('rate_limiter_bytes_per_s', '8000000')}"
    )


def test_a_terminal_that_cannot_redraw_gets_one_frame(run_dir: Path) -> None:
    """Such as a shell within an editor."""
    with serving(run_dir), PseudoTerminal("top", run_dir=run_dir, kind="dumb") as terminal:
        assert terminal.ends() == 0
        assert "No database to show" in terminal.output
