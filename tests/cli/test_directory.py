"""`adocd serve --directory`, and what operators see of it and can do, as they do it."""

from __future__ import annotations

import os
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.cli.harness import adocctl_json, command, log_of, serving
from tests.support.observed import TALKATIVE, db_bench, rocksdict_program
from tests.support.waiting import PATIENCE_S, eventually


def status_when(run_dir: Path, *, sampled: bool = True) -> dict[str, Any]:
    """Wait for a target that has been sampled; its status."""

    def look() -> dict[str, Any] | None:
        if not adocctl_json(run_dir, "targets")["targets"]:
            return None
        found: dict[str, Any] = adocctl_json(run_dir, "status")
        return found if (found["sample"] is not None) == sampled else None

    found = eventually(look, what="a sampled target")
    assert found is not None
    return found


def test_an_operators_way_through(tmp_path: Path, run_dir: Path) -> None:
    path, nowhere = tmp_path / "db", tmp_path / "nowhere"
    with serving(run_dir, "--directory", str(path), "--directory", str(nowhere), "--port", "0"):
        both = {str(path), str(nowhere)}
        eventually(lambda: set(adocctl_json(run_dir, "targets")["problems"]) == both, what="both are problems")
        assert adocctl_json(run_dir, "targets")["targets"] == []
        with db_bench(path) as program:
            detail = status_when(run_dir)
            assert detail["process"]["pid"] == program.pid
            assert detail["process"]["agent"].startswith("directory ")
            (family,) = detail["sample"]["column_families"]
            assert family["memtables_bytes"] is None
            assert "memtables_bytes" in family["unknown"]
            shown = command("adocctl", "status", run_dir=run_dir).ok()
            assert "its directory alone" in shown
            assert "pending compaction unknown" in shown
            assert f"db_bench ({program.pid})" in shown

            why = "a directory is only observed: start the database's program by `adocd exec --`, or attach an agent"
            command("adocctl", "set-policy", "adoc", run_dir=run_dir).failed(5, "adoc cannot work on", why)
            command("adocctl", "set-policy", "fixed", run_dir=run_dir).ok()
            command("adocctl", "override", "set", "write_buffer_size=8MiB", str(path), run_dir=run_dir).failed(5, why)
            linted = command("adocctl", "lint", run_dir=run_dir).ok()
            assert linted.startswith(f"{path}: ")
            assert "tune_threads" not in linted
            command("adocctl", "restore", str(path), run_dir=run_dir).failed(5, "has nothing to restore", why)
            command("adocctl", "restore", "--all", run_dir=run_dir).ok()
            assert "adocd_l0_files{" in (metrics := _metrics(run_dir))
            assert "adocd_memtables_bytes{" not in metrics
            assert "adocd_pending_compaction_bytes{" not in metrics
            assert "adocd_target_up{" in metrics
        eventually(lambda: adocctl_json(run_dir, "status")["state"] == "closed", what="it is closed")
        assert "closed" in command("adocctl", "targets", run_dir=run_dir).ok()
    assert "Traceback" not in log_of(run_dir)


def _metrics(run_dir: Path) -> str:
    port = next(line.rpartition(":")[2] for line in log_of(run_dir).splitlines() if "on http:" in line)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as answer:
        return str(answer.read().decode())


def test_by_the_configuration(tmp_path: Path, run_dir: Path) -> None:
    file = tmp_path / "adocd.toml"
    file.write_text(f"[daemon]\ntick_s = 0.2\ndirectories = ['{tmp_path / 'db'}']\n")
    with rocksdict_program() as program:
        program.ask("open_plain", tmp_path / "db", *TALKATIVE)
        with serving(run_dir, "--config", str(file)):
            assert status_when(run_dir)["path"] == str(tmp_path / "db")


@pytest.mark.parametrize(
    ("directories", "words"),
    [
        ("['db']", "daemon.directories: a directory is named by its whole path, and 'db' does not begin with /"),
        ("['']", "daemon.directories: a directory is empty; name it by its whole path"),
        ("'/db'", "daemon.directories must be a list, not '/db'"),
        ("[1]", "daemon.directories.0 must be text, not 1"),
    ],
)
def test_a_bad_configuration(tmp_path: Path, run_dir: Path, directories: str, words: str) -> None:
    file = tmp_path / "adocd.toml"
    file.write_text(f"[daemon]\ndirectories = {directories}\n")
    command("adocd", "check-config", str(file), run_dir=run_dir).failed(2, words)


def test_an_empty_name_is_no_directory(run_dir: Path) -> None:
    refused = "--directory is empty; name the directory of a database"
    command("adocd", "serve", "--directory", "", run_dir=run_dir).failed(2, refused)


def test_a_path_that_is_no_text_is_refused_as_it_is_given_or_found(run_dir: Path, tmp_path: Path) -> None:
    """It cannot be in an answer of REST, and would take all other targets with it."""
    odd = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9"))
    odd.mkdir()
    refused = f"{str(odd)!a} is not UTF-8, so adocd cannot show it: rename it"
    command("adocd", "serve", "--directory", str(odd), run_dir=run_dir).failed(2, f"--directory {refused}")
    link = tmp_path / "link"
    link.symlink_to(odd)
    with serving(run_dir, "--directory", str(link)):
        assert adocctl_json(run_dir, "targets")["problems"] == {str(link): refused}


def test_a_name_relative_to_where_the_daemon_was_started(run_dir: Path) -> None:
    with serving(run_dir, "--directory", "some/where"):
        (name,) = adocctl_json(run_dir, "targets")["problems"]
    assert name == str(Path.cwd() / "some/where")
