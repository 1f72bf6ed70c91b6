"""What is to be done, and the command for it: one that can be pasted into a shell, whatever a name has in it."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from adocd.api import remedy
from tests.page.points import target

EVIL = "it's; rm -rf ~ `x` $(y)"


def hurts(pinned: dict[str, Any] | None) -> dict[str, Any]:
    return {"kind": "hurts", "pinned": pinned}


@pytest.mark.parametrize(
    ("pinned", "words"),
    [
        (None, ["restore", "aff"]),
        ({"column_family": None, "everywhere": False}, ["override", "remove", "write_buffer_size", "aff"]),
        ({"column_family": None, "everywhere": True}, ["override", "remove", "write_buffer_size", "--all"]),
        (
            {"column_family": EVIL, "everywhere": False},
            ["override", "remove", "write_buffer_size", "aff", "--column-family", EVIL],
        ),
    ],
)
def test_the_command_undoes_exactly_what_hurts(pinned: dict[str, Any] | None, words: list[str]) -> None:
    pin = None if pinned is None else pinned | {"option": "write_buffer_size"}
    found = remedy.undo(hurts(pin), target(id="aff"))
    assert found is not None
    assert shlex.split(found.command) == ["adocctl", *words]
    assert f"`{found.command}`" in str(found)


@pytest.mark.parametrize("kind", ["helps", "same", "unknown", "idle"])
def test_nothing_is_undone_that_does_not_hurt(kind: str) -> None:
    assert remedy.undo(hurts(None) | {"kind": kind}, target()) is None
    assert remedy.undo(None, target()) is None


def test_a_dry_run_acts_with_the_parameters_and_the_shaping_that_it_has() -> None:
    policy = {
        "controller": "adoc", "parameters": {"threads_max": 8, "tune_batch": False}, "dry_run": True,
        "shaping": {"step_factor": 2.0, "pacing_s": 0.0},
    }  # fmt: skip
    found = remedy.let_act(target(id="aff", policy=policy))
    assert found is not None
    assert (
        found.command == "adocctl set-policy adoc aff --set threads_max=8 --set tune_batch=false --shape step_factor=2"
    )
    assert remedy.let_act(target(policy=policy, paused="alice paused it")) is None
    assert remedy.let_act(target(policy=policy | {"dry_run": False})) is None
    assert remedy.let_act(target(policy=policy | {"controller": "fixed"})) is None, "it would not act either"


def test_a_silent_agent_without_a_known_process_is_one_for_the_doctor() -> None:
    assert remedy.wake(None).command == "adocctl doctor"
    assert remedy.wake(target()["process"] | {"pid": 4711}).command.endswith("-p 4711")
