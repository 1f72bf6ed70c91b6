"""The wheel: one top-level package, and all that has to travel in it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    directory = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    )
    (wheel,) = Path(directory).glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        return content.namelist()


def test_the_only_top_level_package_is_adocd(names: list[str]) -> None:
    """A top-level `api` or `cli` in site-packages would shadow its user's own."""
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"adocd"}


def test_the_agents_sources_and_the_protocol_travel(names: list[str]) -> None:
    sources = REPOSITORY / "agents" / "native"
    expected = {
        f"adocd/_agents/native/{path.relative_to(sources)}"
        for pattern in ("CMakeLists.txt", "exports.map", "src/*", "include/**/*.h", "cmake/*")
        for path in sources.glob(pattern)
        if path.is_file()
    }
    assert expected <= set(names)
    assert "adocd/_agents/admin-api.yaml" in names
