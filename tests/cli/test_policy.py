"""`adocctl policy show` and `diff`, `override clear`, and that every command of adocctl takes --json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from adocd.cli import adocctl as program
from tests.cli.harness import adocctl_json, command, wait_for_target
from tests.cli.harness import quickly_serving as serving
from tests.support.fake_agent import FakeAgent
from tests.support.fake_daemon import Answer, FakeDaemon
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

TARGET = {"id": "ed765b", "path": "/var/lib/db", "state": "attached"}


def every_command() -> Iterator[tuple[str, Any]]:
    def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
        if hasattr(command, "commands"):
            for word, below in command.commands.items():
                yield from walk(below, f"{name} {word}".strip())
        else:
            yield name, command

    yield from walk(typer.main.get_command(program.app), "")


@pytest.mark.parametrize(("name", "found"), [pytest.param(name, found, id=name) for name, found in every_command()])
def test_every_command_takes_json_and_says_what_it_does(name: str, found: Any) -> None:
    assert any("--json" in parameter.opts for parameter in found.params), f"adocctl {name} has no --json"
    assert found.help, f"adocctl {name} does not say what it does"
    for parameter in found.params:
        assert getattr(parameter, "help", None), f"adocctl {name} does not say what {parameter.name} is"


def test_the_policy_in_force(run_dir: Path) -> None:
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]), serving(run_dir):
        wait_for_target(run_dir)
        command("adocctl", "set-policy", "adoc", "--set", "threads_max=8", "--dry-run", run_dir=run_dir).ok()
        rows = [line.split() for line in command("adocctl", "policy", "show", run_dir=run_dir).ok().splitlines()]
        assert rows[0][:4] == ["adoc,", "a", "dry", "run:"]
        assert ["threads_max", "8", "default", "20"] in rows
        assert ["threads_min", "2", "default"] in rows
        content = adocctl_json(run_dir, "policy", "show")
        assert content["parameters"] == {"threads_max": 8}


def test_setting_one_says_what_it_replaced(run_dir: Path) -> None:
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]), serving(run_dir):
        wait_for_target(run_dir)
        said = command("adocctl", "set-policy", "adoc", "--set", "threads_max=8", run_dir=run_dir).ok().splitlines()
        assert said[:2] == ["The policy is now adoc threads_max=8", "  controller: adoc, was fixed"]


def test_nobody_replaces_a_policy_that_he_has_not_seen(run_dir: Path) -> None:
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]), serving(run_dir):
        wait_for_target(run_dir)
        seen = adocctl_json(run_dir, "policy", "diff", "adoc", "--dry-run")["etag"]
        command("adocctl", "set-policy", "adoc", "--set", "threads_max=8", "--dry-run", run_dir=run_dir).ok()  # another
        late = ("set-policy", "adoc", "--dry-run", "--if-match")
        command("adocctl", *late, seen, run_dir=run_dir).failed(
            5, "is not what you saw: it is adoc", "look at it and decide anew"
        )
        assert adocctl_json(run_dir, "policy", "show")["parameters"] == {"threads_max": 8}
        command("adocctl", *late, "4c91\r\nX: y", run_dir=run_dir).failed(
            2, "the ETag that `adocctl policy diff` shows"
        )
        seen = adocctl_json(run_dir, "policy", "diff", "adoc", "--dry-run")["etag"]
        command("adocctl", *late, seen.strip('"'), run_dir=run_dir).ok()
        assert adocctl_json(run_dir, "policy", "show")["parameters"] == {}


def test_what_it_says_it_replaced_is_what_it_did(run_dir: Path) -> None:
    """Even without being asked to, it sets nothing in place of what came between its look and its change."""

    def refuses(method: str, path: str, headers: dict[str, str], body: object) -> Answer:
        assert (method, headers["if-match"]) == ("PUT", '"4c91"')
        return 412, {"detail": "the policy of /db is not what you saw"}

    with FakeDaemon(run_dir, difference([]) | {"/v1/targets/ed765b/policy": refuses}):
        command("adocctl", "set-policy", "adoc", run_dir=run_dir).failed(5, "is not what you saw")


# -- the difference


def difference(changes: list[dict[str, Any]], refused: str | None = None) -> dict[str, Any]:
    return {
        "/v1/targets": (200, {"targets": [TARGET], "problems": {}, "journal": {}}),
        "/v1/targets/ed765b": (200, TARGET),
        "/v1/targets/ed765b/policy/difference": (200, {"etag": '"4c91"', "changes": changes, "refused": refused}),
    }


def test_how_another_policy_would_differ(run_dir: Path) -> None:
    change = {"field": "parameters.threads_max", "now": 20, "wanted": 8}
    with FakeDaemon(run_dir, difference([change, {"field": "dry_run", "now": True, "wanted": False}])) as daemon:
        arguments = ("policy", "diff", "adoc", "--set", "threads_max=8", "--shape", "pacing_s=5")
        rows = [line.split() for line in command("adocctl", *arguments, run_dir=run_dir).ok().splitlines()]
        assert rows == [
            ["what", "now", "would", "be"], ["parameters.threads_max", "20", "8"], ["dry_run", "true", "false"],
            ["To", "set", "it", "only", "if", "this", "policy", "is", "still", "in", "force:", "--if-match", "4c91"],
        ]  # fmt: skip
        assert daemon.asked[-1][0] == "POST"
        assert daemon.asked[-1][3] == {
            "controller": "adoc", "parameters": {"threads_max": 8}, "shaping": {"pacing_s": 5}, "dry_run": False,
        }  # fmt: skip
        assert json.loads(command("adocctl", *arguments, "--json", run_dir=run_dir).ok())["changes"][0] == change
    with FakeDaemon(run_dir, difference([])):
        assert command("adocctl", "policy", "diff", "adoc", run_dir=run_dir).ok() == "Nothing would change.\n"


def test_how_the_policy_of_a_file_would_differ(run_dir: Path) -> None:
    file = run_dir / "adocd.toml"
    file.write_text(
        '[policy]\ncontroller = "fixed"\n[[targets]]\npath = "/var/lib/*"\ncontroller = "adoc"\ndry_run = true\n'
        "[targets.parameters]\nthreads_max = 6\n[targets.shaping]\nstep_factor = 2\n"
    )
    with FakeDaemon(run_dir, difference([])) as daemon:
        command("adocctl", "policy", "diff", "--file", str(file), "db", run_dir=run_dir).ok()
        assert daemon.asked[-1][3] == {
            "controller": "adoc", "parameters": {"threads_max": 6}, "dry_run": True,
            "shaping": {"step_factor": 2.0, "pacing_s": 0.0, "refractory_s": 0.0, "judge_s": 0.0},
        }  # fmt: skip
        file.write_text("[policy]\ncontroler = 1\n")
        diff = ("policy", "diff", "--file", str(file))
        command("adocctl", *diff, run_dir=run_dir).failed(
            2, "policy: there is no key 'controler'; did you mean controller?"
        )
        command("adocctl", *diff, "--dry-run", run_dir=run_dir).failed(2, "--file gives the whole policy")
        command("adocctl", "policy", "diff", run_dir=run_dir).failed(2, "say which policy to compare with")


def test_a_policy_that_would_be_refused(run_dir: Path) -> None:
    with FakeDaemon(run_dir, difference([], refused="there is no controller 'adco'")):
        done = command("adocctl", "policy", "diff", "adco", run_dir=run_dir)
        done.failed(5, "there is no controller 'adco'")
        assert done.out == "It cannot be set.\n"


# -- clearing pins


def test_all_pins_of_one_target_and_of_all(run_dir: Path) -> None:
    databases = [FakeDatabase(run_dir / "one"), FakeDatabase(run_dir / "two")]
    with FakeAgent(run_dir, databases), serving(run_dir):
        eventually(lambda: len(adocctl_json(run_dir, "targets")["targets"]) == 2, what="two targets")
        for pin, where in (
            ("write_buffer_size=96MiB", "one"),
            ("max_background_jobs=4", "one"),
            ("max_background_jobs=5", "two"),
            ("level0_slowdown_writes_trigger=30", "--all"),
        ):
            command("adocctl", "override", "set", pin, where, run_dir=run_dir).ok()
        command("adocctl", "override", "clear", run_dir=run_dir).failed(2, "say which target is meant")
        command("adocctl", "override", "clear", "write_buffer_size", run_dir=run_dir).failed(
            2, "is an option", "adocctl override remove write_buffer_size"
        )
        shown = command("adocctl", "override", "clear", "one", run_dir=run_dir).ok()
        assert "max_background_jobs is not pinned any more (it was 4)" in shown
        assert "level0_slowdown_writes_trigger stays pinned to 30" in shown
        assert [pin["option"] for pin in adocctl_json(run_dir, "override", "list", "one")] == [
            "level0_slowdown_writes_trigger"
        ]
        content = adocctl_json(run_dir, "override", "clear", "--all")
        assert {pin["option"] for pin in content["removed"]} == {
            "max_background_jobs",
            "level0_slowdown_writes_trigger",
        }
        assert adocctl_json(run_dir, "override", "list", "two") == []
        assert command("adocctl", "override", "clear", "two", run_dir=run_dir).ok() == "Nothing was pinned there.\n"


def test_a_pin_that_expires_meanwhile_is_no_failure(run_dir: Path) -> None:
    pin = {"target": "ed765b", "option": "write_buffer_size", "column_family": None, "value": "1"}

    def listed(method: str, *_: Any) -> Answer:
        return 200, {"overrides": [pin]}

    routes = difference([]) | {
        "/v1/targets/ed765b/overrides": listed,
        "/v1/targets/ed765b/overrides/write_buffer_size": (404, {"detail": "it is not pinned there"}),
    }
    with FakeDaemon(run_dir, routes):
        assert "not pinned any more" in command("adocctl", "override", "clear", run_dir=run_dir).ok()
