"""`adocctl events` and `audit`: lines of what happened and happens, over a daemon that goes and comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from adocd.cli import show_events
from tests.cli.harness import command
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.support.fake_daemon import HEALTH, Answer, FakeDaemon, event

DECISION = {
    "sequence": 3, "monotonic_s": 5.0, "unix_s": 1_700_000_005.0, "controller": "adoc", "rule": "adoc.memory",
    "settings": [{"knob": "batch_size", "value": 128 << 20, "column_family": None}],
    "changes": [
        {
            "option": {"scope": "column_family", "option": "write_buffer_size", "name": "default"},
            "before": str(64 << 20), "value": str(128 << 20),
        }
    ],
    "signal": "2 memtables", "reason": "memory overflows", "guards": [], "outcome": "applied",
    "elapsed_s": 0.021, "detail": None,
}  # fmt: skip
CAUSE = {"causes": [{"cause": "l0", "column_family": "default"}]}


def daemon_with(*events: bytes) -> dict[str, Any]:
    return {"/healthz": HEALTH, "/v1/events": (200, b": hello\n\n" + b"".join(events))}


def test_a_line_for_each(run_dir: Path) -> None:
    stall = {"condition": "stopped", "why": "level 0 has 36 files", "since_unix_s": 1_700_000_002.0} | CAUSE
    routes = daemon_with(
        event(1, "target", state="attached", sentence="its agent answers"),
        event(2, "stall", state="began", stall=stall),
        event(3, "decision", record=DECISION),
        event(4, "stall", state="ended", stall=stall, ended_unix_s=1_700_000_012.0),
        event(5, "operation", who="alice", what="pin", sentence="write_buffer_size is pinned"),
        event(6, "lost", count=12),
        event(7, "daemon", sentence="the configuration was read again"),
    )
    with FakeDaemon(run_dir, routes) as daemon:
        lines = command("adocctl", "events", "-n", "7", run_dir=run_dir).ok().splitlines()
        assert [line[10:] for line in lines] == [
            "target    /db: attached: its agent answers",
            "stall     /db: writes are stopped: level 0 has 36 files",
            "decision  /db: #3 adoc.memory: memtable 64 MiB → 128 MiB: applied in 0.02 s, because of 2 memtables",
            "stall     /db: writes flow again after 10 s; they were stopped because of l0",
            "operation /db: alice pin: write_buffer_size is pinned",
            "lost      /db: 12 events are lost: they came faster than they were read, or are too long ago",
            "daemon    /db: the configuration was read again",
        ]
        asked = next(target for _, target, _, _ in daemon.asked if target.startswith("/v1/events"))
        assert parse_qs(urlsplit(asked).query) == {
            "kinds": ["decision,stall,target,operation,daemon"], "last": ["7"], "follow": ["false"]
        }  # fmt: skip


def test_a_stall_that_was_over_before_anybody_looked_is_told_as_past() -> None:
    stall = {"condition": "stopped", "why": "writes were stopped once, and flowed again before the next look"} | CAUSE
    said = {"unix_s": 1.0, "path": "/db", "stall": stall | {"since_unix_s": 1.0}, "ended_unix_s": 1.2}
    began, ended = (show_events.line("stall", said | {"state": state})[20:] for state in ("began", "ended"))
    assert began == "/db: writes were stopped once, and flowed again before the next look (l0)"
    assert ended == "/db: writes flow again after 0.2 s; they were stopped because of l0"


def test_json_lines_are_the_daemons_own(run_dir: Path) -> None:
    with FakeDaemon(run_dir, daemon_with(event(1, "decision", record=DECISION), event(2, "sample", writes_per_s=1.0))):
        shown = command("adocctl", "events", "--json", "--kind", "decision", "-n", "2", run_dir=run_dir).ok()
    first, second = map(json.loads, shown.splitlines())
    assert first["record"] == DECISION
    assert (first["id"], first["kind"], second["id"], second["kind"]) == (1, "decision", 2, "sample")


def test_it_goes_on_where_it_was(run_dir: Path) -> None:
    """Ids of a later daemon are larger, so that it says by itself what is not known any more."""
    asked: list[str | None] = []

    def events(_: str, __: str, headers: dict[str, str], ___: Any) -> Answer:
        asked.append(headers.get("last-event-id"))
        return 200, event(40 + len(asked), "daemon", sentence=f"the stream number {len(asked)}")

    with (
        FakeDaemon(run_dir, {"/healthz": HEALTH, "/v1/events": events}),
        PseudoTerminal("events", "-f", "--after", "7", run_dir=run_dir, columns=200) as terminal,
    ):
        terminal.shows("the stream number 3")
        terminal.press("\x03")
        assert terminal.ends() == 0
    assert asked[:3] == ["7", "41", "42"]
    seen = terminal.output.partition("the stream number 3")[0]
    assert "the stream number 2" in seen
    assert seen.count("asking again every second") == 2
    assert seen.count("the daemon answers again") == 2


def test_the_last_ones_are_asked_for_once_alone(run_dir: Path) -> None:
    """After a restart of the daemon none may be left out."""
    asked: list[dict[str, list[str]]] = []

    def events(_: str, target: str, *__: Any) -> Answer:
        asked.append(parse_qs(urlsplit(target).query))
        return 200, event(40 + len(asked), "daemon", sentence=f"the stream number {len(asked)}")

    with (
        FakeDaemon(run_dir, {"/healthz": HEALTH, "/v1/events": events}),
        PseudoTerminal("events", "-f", "-n", "5", "--kind", "stall", run_dir=run_dir, columns=200) as terminal,
    ):
        terminal.shows("the stream number 2")
    assert asked[:2] == [{"kinds": ["stall"], "last": ["5"]}, {"kinds": ["stall"]}]


def test_where_nothing_is_kept_it_says_so_and_ends(run_dir: Path) -> None:
    with FakeDaemon(run_dir, daemon_with()):
        done = command("adocctl", "events", run_dir=run_dir)
        assert (done.ok(), done.err) == ("", "adocctl: no such event is kept; -f shows what happens from now on\n")
        assert "samples are not kept" in command("adocctl", "events", "--kind", "sample", run_dir=run_dir).err


def test_a_daemon_that_does_not_know_the_target_yet_is_asked_again(run_dir: Path) -> None:
    """After a restart it takes a moment to find it, and others may take all streams meanwhile."""
    unknown, busy = {"detail": "there is no target 'ed765b'"}, {"detail": "100 streams are open already"}
    answers = [(200, event(1, "daemon", sentence="the first stream")), (404, unknown), (404, unknown), (503, busy)]
    targets = {"targets": [{"id": "ed765b", "path": "/db", "state": "attached"}]}

    def events(*_: Any) -> Answer:
        return answers.pop(0) if answers else (200, event(2, "daemon", sentence="the second stream"))

    with (
        FakeDaemon(run_dir, {"/healthz": HEALTH, "/v1/targets": (200, targets), "/v1/events": events}),
        PseudoTerminal("events", "db", "-f", run_dir=run_dir, columns=200) as terminal,
    ):
        terminal.shows("the second stream")
    seen = terminal.output.partition("the second stream")[0]
    assert seen.count("there is no target 'ed765b'; asking again every second") == 1, "it is said once"
    assert seen.count("100 streams are open already; asking again every second") == 1
    assert seen.count("the daemon answers again") == 1


def test_another_daemon_is_asked_for_all_it_has_where_nothing_had_come(run_dir: Path) -> None:
    asked: list[str | None] = []
    pids = [1, 2]

    def health(*_: Any) -> Answer:
        return 200, HEALTH[1] | {"pid": pids.pop(0) if len(pids) > 1 else pids[0]}

    def events(_: str, __: str, headers: dict[str, str], ___: Any) -> Answer:
        asked.append(headers.get("last-event-id"))
        return 200, event(1, "lost", count=None) if len(asked) > 1 else b": hello\n\n"

    with (
        FakeDaemon(run_dir, {"/healthz": health, "/v1/events": events}),
        PseudoTerminal("events", "-f", run_dir=run_dir, columns=200) as terminal,
    ):
        terminal.shows("the daemon was started anew")
    assert asked[:2] == [None, "0"]


def test_what_cannot_be_followed_is_one_sentence(run_dir: Path) -> None:
    command("adocctl", "events", run_dir=run_dir).failed(3, "no daemon answers at")
    command("adocctl", "audit", run_dir=run_dir).failed(3, "no daemon answers at")
    with FakeDaemon(run_dir, {"/healthz": HEALTH, "/v1/events": (409, {"detail": "kinds: there is no such kind"})}):
        command("adocctl", "events", run_dir=run_dir).failed(5, "there is no such kind")
        command("adocctl", "events", "--kind", "stal", run_dir=run_dir).failed(2, "'stal'; did you mean stall?")
    with FakeDaemon(run_dir, {"/healthz": HEALTH}):
        command("adocctl", "events", run_dir=run_dir).failed(4, "there is no such thing")
        command("adocctl", "events", "-f", run_dir=run_dir).failed(4, "there is no such thing")


def test_ctrl_c_ends_it_well(run_dir: Path) -> None:
    with (
        FakeDaemon(run_dir, daemon_with(event(1, "daemon", sentence="it began"))),
        PseudoTerminal("events", "-f", run_dir=run_dir) as terminal,
    ):
        terminal.shows("it began")
        terminal.press("\x03")
        assert terminal.ends() == 0
        assert "Traceback" not in terminal.output


def test_names_cannot_steer_the_terminal() -> None:
    line = show_events.line(
        "operation", {"unix_s": 0.0, "path": "/a\x1b[2J", "who": "x", "what": "pin", "sentence": "a\nb"}
    )
    assert "/a" in line
    assert "a\\nb" in line
    assert "\x1b" not in line
    assert "\n" not in line


@pytest.mark.parametrize("kind", ["decision", "stall", "target", "operation", "daemon", "sample", "new-kind"])
def test_an_event_of_a_newer_daemon_is_still_a_line(kind: str) -> None:
    """A minor version adds members, and none that is known goes: those are the least."""
    least: dict[str, dict[str, Any]] = {
        "decision": {"record": DECISION}, "stall": {"state": "ended", "stall": None},
        "target": {"state": "silent"}, "operation": {"who": "a", "what": "b", "sentence": "c"},
    }  # fmt: skip
    assert kind in show_events.line(kind, {"unix_s": 0.0, "what_is_this": [1]} | least.get(kind, {}))


def test_the_audit_trail(run_dir: Path) -> None:
    done = [
        {"id": n, "unix_s": 1_700_000_000.0 + n, "who": "alice", "what": "pause", "target": None, "path": None,
         "sentence": f"the law rests, {n}"}
        for n in (12, 11)
    ]  # fmt: skip
    answer = {"operations": done, "next_before": 11}
    with FakeDaemon(run_dir, {"/v1/operations": (200, answer)}) as daemon:
        shown = command("adocctl", "audit", "-n", "2", "--before", "13", run_dir=run_dir).ok()
        header, first, second, more = shown.splitlines()
        assert header.split() == ["#", "time", "who", "what", "database", "in", "words"]
        assert first.startswith("11 ")
        assert second.endswith("the law rests, 12")
        assert more == "There are older ones: adocctl audit -n 2 --before 11"
        assert json.loads(command("adocctl", "audit", "--json", run_dir=run_dir).ok()) == answer
        assert parse_qs(urlsplit(daemon.asked[0][1]).query) == {"limit": ["2"], "before": ["13"]}
    with FakeDaemon(run_dir, {"/v1/operations": (200, {"operations": [], "next_before": None})}):
        assert command("adocctl", "audit", run_dir=run_dir).ok() == "Nobody has done anything yet.\n"
