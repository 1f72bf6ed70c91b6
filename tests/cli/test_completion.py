"""What a shell completes: by the shells' own protocol, and installed for each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from adocd.controllers import registry
from tests.cli.harness import BIN, command, wait_for_target
from tests.cli.harness import quickly_serving as serving
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

FILES = {"bash": ".bashrc", "zsh": ".zfunc/_adocctl", "fish": ".config/fish/completions/adocctl.fish"}


def completed(run_dir: Path, *words: str) -> list[str]:
    """Ask as bash does: the words of the line, and which one is being written."""
    line = " ".join(("adocctl", *words))
    done = command(
        "adocctl", run_dir=run_dir, _ADOCCTL_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words))
    )
    assert done.err == ""
    return done.out.split()


def test_commands_and_their_options(run_dir: Path) -> None:
    assert completed(run_dir, "do") == ["doctor"]
    assert completed(run_dir, "override", "c") == ["clear"]
    assert "--json" in completed(run_dir, "top", "--")


def test_conditions(run_dir: Path) -> None:
    store = run_dir / "orders" / "0_3" / "rocksdb" / "balances"
    with FakeAgent(run_dir, [FakeDatabase(store), FakeDatabase(run_dir / "mydb")]), serving(run_dir):
        wait_for_target(run_dir)
        eventually(lambda: completed(run_dir, "set-policy", "adoc", "--where", "s") == ["store="])
        eventually(lambda: completed(run_dir, "targets", "--where", "store=b") == ["store=balances"])
        assert completed(run_dir, "targets", "--where", "segment=") == []


def test_what_the_daemon_knows(run_dir: Path) -> None:
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "mydb")]), serving(run_dir):
        wait_for_target(run_dir)
        eventually(lambda: completed(run_dir, "status", "my") == ["mydb"])
        eventually(lambda: completed(run_dir, "status", f"{run_dir}/m") == [f"{run_dir}/mydb"])
        eventually(lambda: "spring-and-gear" in completed(run_dir, "set-policy", "sp"))
        eventually(lambda: "threads_max=" in completed(run_dir, "set-policy", "adoc", "--set", "threads_"))
        of_mimd = ("simulate", "--policy", "adoc+mimd", "--set", "mimd.")
        eventually(lambda: "mimd.max_bytes_per_s=" in completed(run_dir, *of_mimd))
        command("adocctl", "override", "set", "max_background_jobs=4", run_dir=run_dir).ok()
        eventually(lambda: completed(run_dir, "override", "remove", "m") == ["max_background_jobs"])


def test_what_needs_no_daemon(run_dir: Path) -> None:
    assert completed(run_dir, "status", "my") == []
    assert completed(run_dir, "set-policy", "adoc+mi") == ["adoc+mimd"]
    assert completed(run_dir, "set-policy", "de") == [registry.BY_DEFAULT]
    assert completed(run_dir, "set-policy", "adoc+de") == [], "it stands for one law, and is none"
    assert "memory_max_bytes=" in completed(run_dir, "set-policy", "default", "--set", "memory_")
    assert "write_buffer_size=" in completed(run_dir, "override", "set", "write")
    assert completed(run_dir, "events", "--kind", "st") == ["stall"]
    assert completed(run_dir, "export", "--format", "o") == ["options"]


@pytest.mark.parametrize("shell", FILES)
def test_it_installs_for_each_shell(shell: str, run_dir: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    done = subprocess.run(
        [str(BIN / "adocctl"), "--install-completion", shell],
        capture_output=True, text=True, check=False, timeout=60,
        env=environment | {"HOME": str(run_dir), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "adocctl" in (run_dir / FILES[shell]).read_text()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_real_bash_completes(run_dir: Path) -> None:
    shown = subprocess.run(
        [str(BIN / "adocctl"), "--show-completion", "bash"],
        capture_output=True, text=True, check=True, timeout=60,
        env=dict(os.environ) | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    ).stdout  # fmt: skip
    script = run_dir / "completion.bash"
    script.write_text(shown)
    line = "COMP_WORDS=(adocctl doc); COMP_CWORD=1; _adocctl_completion adocctl doc adocctl; echo $COMPREPLY"
    done = subprocess.run(
        ["bash", "--norc", "-c", f"source {script}; {line}"], capture_output=True, text=True, check=True, timeout=60,
        env=dict(os.environ) | {"PATH": f"{BIN}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout.strip() == "doctor", done.stderr
