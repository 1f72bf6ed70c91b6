"""The same mistake has the same exit code, and one sentence, in every command of `adocctl`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.harness import command
from tests.cli.test_policy import every_command

pytestmark = pytest.mark.long

SIZE = "write_buffer_size=64MiB"
#: What each command needs; TARGET stands where it takes one.
NEEDS: dict[str, tuple[str, ...]] = {
    "top": ("TARGET", "--once"),
    "explain": ("TARGET",),
    "events": ("TARGET",),
    "audit": ("TARGET",),
    "doctor": (),
    "export": ("TARGET",),
    "record": ("FILE", "TARGET", "--seconds", "1s"),
    "replay": ("FILE", "--policy", "adoc"),
    "simulate": ("--seconds", "10s"),
    "targets": (),
    "status": ("TARGET",),
    "lint": ("TARGET",),
    "controllers": (),
    "set-policy": ("adoc", "TARGET"),
    "reset-policy": ("TARGET",),
    "pause": ("TARGET",),
    "resume": ("TARGET",),
    "decisions": ("TARGET",),
    "restore": ("TARGET",),
    "forget": ("TARGET",),
    "policy show": ("TARGET",),
    "policy diff": ("adoc", "TARGET"),
    "override set": (SIZE, "TARGET"),
    "override list": ("TARGET",),
    "override remove": ("write_buffer_size", "TARGET"),
    "override clear": ("TARGET",),
    "token create": ("grafana",),
    "token list": (),
    "token revoke": ("grafana",),
}
#: A value that cannot be, for each command that takes one.
BAD_VALUES: dict[str, tuple[str, ...]] = {
    "top": ("--interval", "soon"),
    "events": ("--kind", "stal"),
    "audit": ("-n", "few"),
    "export": ("--format", "xml"),
    "record": ("FILE", "--seconds", "0s"),
    "replay": ("FILE", "--policy", "adco"),
    "simulate": ("--rate-limiter", "8M"),
    "set-policy": ("adoc", "--set", "batch_max_bytes=64M"),
    "decisions": ("-n", "0"),
    "policy diff": ("adoc", "--set", "thread_max=8"),
    "override set": ("write_buffer_size=64M",),
    "token create": ("a b",),
    "token revoke": ("a b",),
}
#: These work without a daemon.
ALONE = {"doctor", "replay", "simulate", "controllers", "token create", "token list", "token revoke"}
#: Without a daemon this tells the agents itself, and looks for the target there.
DIRECTLY = {"restore": 4, "explain": 4}
TAKES_A_TARGET = sorted(name for name, words in NEEDS.items() if "TARGET" in words)
TALKS = sorted(NEEDS.keys() - {"replay", "simulate", "doctor"})


def fails(name: str, words: tuple[str, ...], run_dir: Path, status: int, **environment: str) -> str:
    given = [str(run_dir / "new.adocrec") if word == "FILE" else word for word in words]
    done = command("adocctl", *name.split(), *given, run_dir=run_dir, **environment)
    said = done.failed(status)
    assert said.startswith("adocctl: ")
    for foreign in ("Input should", "pydantic", "String should", "Traceback", "/v1/", "Usage:"):
        assert foreign not in said
    return said


def with_target(name: str, target: str | None) -> tuple[str, ...]:
    words = (target if word == "TARGET" else word for word in NEEDS[name])
    return tuple(word for word in words if word is not None)


def test_every_command_is_here() -> None:
    assert {name for name, _ in every_command()} == NEEDS.keys()


@pytest.mark.parametrize("name", NEEDS)
def test_an_option_that_there_is_not(name: str, run_dir: Path) -> None:
    said = fails(name, (*with_target(name, "db"), "--jsn"), run_dir, 2)
    assert f"adocctl {name} has no option --jsn; did you mean --json?" in said


@pytest.mark.parametrize("name", TAKES_A_TARGET)
def test_a_target_that_there_is_not(name: str, served: Path) -> None:
    assert "there is no target 'nowhere'" in fails(name, with_target(name, "nowhere"), served, 4)


@pytest.mark.parametrize("name", sorted(BAD_VALUES))
def test_a_value_that_cannot_be(name: str, served: Path) -> None:
    (served / "new.adocrec").write_text("")
    try:
        fails(name, BAD_VALUES[name], served, 2)
    finally:
        (served / "new.adocrec").unlink()


def test_an_argument_that_is_not_utf_8(served: Path) -> None:
    assert r"'\udcff' is not UTF-8" in fails("token revoke", ("\udcff",), served, 2)


@pytest.mark.parametrize("name", sorted(NEEDS.keys() - ALONE))
def test_no_daemon(name: str, run_dir: Path) -> None:
    said = fails(name, with_target(name, "nowhere" if name in DIRECTLY else "db"), run_dir, DIRECTLY.get(name, 3))
    assert "no daemon answers" in said


@pytest.mark.parametrize("name", TALKS)
def test_a_relative_run_directory(name: str, run_dir: Path) -> None:
    said = fails(name, with_target(name, "db"), run_dir, 2, ADOCD_RUN_DIR="run")
    assert "ADOCD_RUN_DIR must be a whole path, such as /" in said


def test_what_works_without_a_daemon(run_dir: Path) -> None:
    for name in ("controllers", "simulate", "token list"):
        assert command("adocctl", *name.split(), *with_target(name, None), run_dir=run_dir).status == 0
