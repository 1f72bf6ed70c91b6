"""Quick tools: what a command does not need is not imported, and lists say what the commands themselves say."""

from __future__ import annotations

import importlib.util
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from adocd.cli import adocctl, adocd
from adocd.cli.lazy import Entry
from tests.cli.harness import serving

#: What only the daemon, the page, the bench or validation needs, and what rich draws Markdown and tracebacks by.
HEAVY = (
    "asyncio", "elftools", "fastapi", "h11", "httpcore", "markdown_it", "nicegui", "prometheus_client", "psutil",
    "pydantic", "pygments", "rocksdict", "starlette", "uvicorn", "websockets", "adocd.daemon", "adocd_bench",
)  # fmt: skip
PROGRAM = """
import json, sys
from adocd.cli.{0} import main
sys.argv[0] = {0!r}
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(program: str, *words: str, run_dir: Path, **more: str) -> set[str]:
    """Run a command in a process of its own; the modules that it had in the end."""
    environment = {"ADOCD_RUN_DIR": str(run_dir), "COLUMNS": "200"} | more
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(program), *words],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
    modules = set(json.loads(done.stderr.splitlines()[-1]))
    assert f"adocd.cli.{program}" in modules
    return modules


def heavy(modules: set[str]) -> set[str]:
    return {name for name in HEAVY if name in modules or any(each.startswith(f"{name}.") for each in modules)}


def test_the_list_of_what_is_heavy_is_of_modules_that_there_are() -> None:
    """Else a name that has changed would be imported by nobody."""
    assert [name for name in HEAVY if importlib.util.find_spec(name) is None] == []


@pytest.mark.parametrize("program", ["adocd", "adocctl"])
def test_help_imports_no_command(program: str, run_dir: Path) -> None:
    modules = loaded(program, "--help", run_dir=run_dir)
    assert heavy(modules) == set()
    commands = {entry.where.partition(":")[0] for entry in (adocd.ENTRIES | adocctl.ENTRIES).values()}
    assert modules & commands == set()


def test_completing_a_command_imports_none(run_dir: Path) -> None:
    asked = {"_ADOCCTL_COMPLETE": "complete_bash", "COMP_WORDS": "adocctl t", "COMP_CWORD": "1"}
    modules = loaded("adocctl", run_dir=run_dir, **asked)
    assert heavy(modules) == set()
    assert "adocd.cli.targets" not in modules


def test_targets_asks_the_daemon_with_little(run_dir: Path) -> None:
    with serving(run_dir):
        modules = loaded("adocctl", "targets", run_dir=run_dir)
    assert "adocd.cli.targets" in modules
    assert heavy(modules) == set()


def entries() -> list[Any]:
    return [
        pytest.param(program, name, id=f"{program.__name__.rpartition('.')[2]} {name}")
        for program in (adocd, adocctl)
        for name in program.ENTRIES
    ]


@pytest.mark.parametrize(("program", "name"), entries())
def test_a_list_says_what_the_command_itself_says(program: Any, name: str) -> None:
    entry: Entry = program.ENTRIES[name]
    command = typer.main.get_command(program.app).commands[name]  # type: ignore[attr-defined]
    assert " ".join(inspect.cleandoc(command.help).split("\n\n")[0].split()) == entry.summary
    assert command.name == name
