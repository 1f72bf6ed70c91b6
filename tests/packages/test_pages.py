"""docs/upgrade.md and docs/uninstall.md; test_debian.py runs what they say of the Debian package."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.packages import pages
from tests.packages.conftest import Archives
from tests.packages.environment import Environment

pytestmark = pytest.mark.long

either = pytest.mark.parametrize("page", pages.PAGES)


@either
def test_every_block_is_a_script(page: str) -> None:
    blocks = pages.blocks(page)
    assert len(blocks) > 1
    for block in blocks:
        subprocess.run(["sh", "-n"], input=block, text=True, check=True)


@either
def test_every_file_that_is_linked_exists(page: str) -> None:
    text = (REPOSITORY / "docs" / page).read_text()
    targets = re.findall(r"\]\(([^)#]+)", text)
    assert targets
    for target in targets:
        assert (REPOSITORY / "docs" / target).exists(), target


def test_upgrading_and_uninstalling_in_an_environment(archives: dict[str, Archives], tmp_path: Path) -> None:
    wheel = archives["adocd"].wheel
    environment = Environment(tmp_path / "adocd", archives["adocd_agent"].wheel, wheel, seed=True)
    environment.uninstall("adocd")  # what it depends on is there, as where something is upgraded
    upgrade = pages.line("upgrade.md", "/opt/adocd/bin/pip install").replace("/opt/adocd", str(environment.root))
    pages.run(upgrade, wheel.parent)
    assert {"adocd", "adocd-agent"} <= environment.installed()
    environment.install(archives["adocd_bench"].wheel)
    assert "adocd-bench" in environment.installed()
    path = f"{environment.root / 'bin'}:{os.defpath}"
    pages.run(pages.line("uninstall.md", "pip uninstall"), wheel.parent, PATH=path)
    assert environment.installed().isdisjoint({"adocd", "adocd-agent", "adocd-bench"})
    left = [*environment.root.rglob("adocd*"), *environment.root.rglob("adocctl*")]
    assert left == []


def test_the_cache_of_compiled_agents_is_removed(tmp_path: Path) -> None:
    kept = tmp_path / "adocd" / "agent" / "cafe" / "libadocd_agent.so"
    kept.parent.mkdir(parents=True)
    kept.touch()
    command = pages.line("uninstall.md", 'rm -rf "${XDG_CACHE_HOME')
    pages.run(command, tmp_path, XDG_CACHE_HOME=str(tmp_path), HOME=str(tmp_path / "home"))
    assert list(tmp_path.iterdir()) == []
