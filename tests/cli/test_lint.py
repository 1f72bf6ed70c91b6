"""adocctl lint against a real daemon process, which looks at a fake agent's database."""

from __future__ import annotations

import json
from pathlib import Path

from adocd.cli.exits import Exit
from tests.cli.harness import adocctl_json, command, serving, wait_for_target
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase


def test_a_danger_has_an_exit_code_of_its_own(run_dir: Path) -> None:
    database = FakeDatabase(run_dir / "db")
    with FakeAgent(run_dir, [database]), serving(run_dir):
        wait_for_target(run_dir)
        severities = {finding["severity"] for finding in adocctl_json(run_dir, "lint")["findings"]}
        assert severities
        assert "danger" not in severities
        assert "OPTIONS file" in command("adocctl", "lint", run_dir=run_dir).ok()

    database = FakeDatabase(run_dir / "db", options={"disable_auto_compactions": "true"})
    with FakeAgent(run_dir, [database]), serving(run_dir):
        wait_for_target(run_dir)
        failed = command("adocctl", "lint", "--json", run_dir=run_dir)
        assert failed.status == Exit.DANGER
        assert json.loads(failed.out)["findings"][0]["rule"] == "compaction-is-off"
