"""The version stands in CHANGELOG.md alone, and everybody else has it from there."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.packages.conftest import DISTRIBUTIONS, Archives

pytestmark = pytest.mark.long

VERSION = re.search(
    r"^## (\d+\.\d+\.\d+)( \((unreleased|\d{4}-\d\d-\d\d)\))$", (REPOSITORY / "CHANGELOG.md").read_text(), re.M
)


@pytest.fixture
def version() -> str:
    assert VERSION is not None, "the newest heading of CHANGELOG.md is '## 1.2.3 (unreleased)' or has a date instead"
    return VERSION[1]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_distribution(archives: dict[str, Archives], version: str, name: str) -> None:
    assert importlib.metadata.version(name) == version, "`make setup` installs the new version"
    for wheel in (archives[name].wheel, archives[name].wheel_of_sdist):
        with zipfile.ZipFile(wheel) as content:
            assert f"{name}-{version}.dist-info/METADATA" in content.namelist()
    assert archives[name].sdist.name == f"{name}-{version}.tar.gz"


def test_the_native_agent(native_agent_library: Path, version: str) -> None:
    """By itself, in a process of its own: it would stand before this one's RocksDB."""
    script = (
        "import ctypes, sys; version = ctypes.CDLL(sys.argv[1]).adocd_agent_version; "
        "version.restype = ctypes.c_char_p; print(version().decode())"
    )
    said = subprocess.run(
        [sys.executable, "-c", script, str(native_agent_library)], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == version, "`make agent` compiles the new version"


@pytest.mark.parametrize(
    "file", ["pyproject.toml", "agents/python/pyproject.toml", "bench/pyproject.toml", "agents/native/CMakeLists.txt"]
)
def test_it_stands_nowhere_else(file: str, version: str) -> None:
    assert version not in (REPOSITORY / file).read_text()
