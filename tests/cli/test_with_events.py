"""`events`, `audit` and `policy diff` against the daemon itself: a stall, and what was done about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.harness import adocctl_json, command, wait_for_target
from tests.cli.harness import quickly_serving as serving
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.daemon.harness import overflowing
from tests.support.fake_agent import FakeAgent
from tests.support.waiting import eventually


def events_of(run_dir: Path, kind: str, count: int) -> list[dict[str, Any]]:
    """Read the first so many of a kind; waits for them."""
    found: list[dict[str, Any]] = []

    def all_there() -> bool:
        lines = command("adocctl", "events", "--after", "0", "--kind", kind, "--json", run_dir=run_dir).ok()
        found[:] = [json.loads(line) for line in lines.splitlines()]
        return len(found) >= count

    eventually(all_there, every_s=0.2, what=f"{count} events of {kind}")
    return found[:count]


def test_an_incident_told_by_events_and_the_audit_trail(run_dir: Path) -> None:
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]), serving(run_dir, "--policy", "adoc"):
        wait_for_target(run_dir)
        (attached,) = events_of(run_dir, "target", 1)
        assert (attached["state"], attached["path"]) == ("attached", str(run_dir / "db"))
        decided = events_of(run_dir, "decision", 2)
        assert decided[-1]["record"]["outcome"] == "applied"
        eventually(lambda: len(adocctl_json(run_dir, "decisions")) > 1, what="a decision before the last")
        numbers = [record["sequence"] for record in adocctl_json(run_dir, "decisions")]
        earlier = adocctl_json(run_dir, "decisions", "--before", str(numbers[-1]))
        assert [record["sequence"] for record in earlier] == numbers[:-1]
        with PseudoTerminal("events", "-f", "--kind", "stall", "--kind", "operation", run_dir=run_dir) as terminal:
            eventually(lambda: _followed(run_dir, terminal), every_s=0.2, what="it follows")
            database.measurements.stall("stopped")
            terminal.shows("writes are stopped")
            database.measurements.stall("normal")
            terminal.shows("writes flow again")
            command("adocctl", "pause", "--reason", "looking", run_dir=run_dir).ok()
            terminal.shows("paused it: looking")
        (paused, *_) = [each for each in adocctl_json(run_dir, "audit")["operations"] if each["what"] == "pause"]
        assert paused["path"] == str(run_dir / "db")
        assert "paused it: looking" in command("adocctl", "audit", run_dir=run_dir).ok()
        assert "paused it: looking" in command("adocctl", "audit", "db", run_dir=run_dir).ok()


def _followed(run_dir: Path, terminal: PseudoTerminal) -> bool:
    """Do something harmless until the follower tells of it: then it is there."""
    command("adocctl", "resume", run_dir=run_dir).ok()
    try:
        terminal.shows("operation", within_s=0.5)
    except AssertionError:
        return False
    return True


def test_how_another_policy_would_differ(run_dir: Path) -> None:
    with FakeAgent(run_dir, [overflowing(run_dir / "db")]), serving(run_dir, "--policy", "fixed"):
        wait_for_target(run_dir)
        command("adocctl", "set-policy", "adoc", "--dry-run", run_dir=run_dir).ok()
        assert (
            command("adocctl", "policy", "diff", "adoc", "--dry-run", run_dir=run_dir).ok() == "Nothing would change.\n"
        )
        rows = command("adocctl", "policy", "diff", "adoc", "--set", "threads_max=8", run_dir=run_dir).ok().splitlines()
        assert [row.split() for row in rows[1:-1]] == [
            ["parameters.threads_max", "20", "8"],
            ["dry_run", "true", "false"],
        ]
        assert "--if-match" in rows[-1]
        command("adocctl", "policy", "diff", "adco", run_dir=run_dir).failed(2, "there is no controller 'adco'")
        assert adocctl_json(run_dir, "policy", "show")["dry_run"] is True, "nothing was changed"
