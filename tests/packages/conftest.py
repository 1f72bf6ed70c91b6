"""The archives of all distributions, built once in a temporary directory."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.packages.environment import Environment
from tests.support.turns import turn

#: The directory of each distribution's pyproject.toml.
DISTRIBUTIONS = {
    "adocd": REPOSITORY,
    "adocd_agent": REPOSITORY / "agents" / "python",
    "adocd_bench": REPOSITORY / "bench",
}


@dataclass(frozen=True)
class Archives:
    """What `make dist` makes of one distribution, and the wheel that comes out of its source archive."""

    name: str
    wheel: Path
    sdist: Path
    wheel_of_sdist: Path

    @property
    def sdist_members(self) -> set[str]:
        """All of the source archive, links too, below its one directory."""
        with tarfile.open(self.sdist) as content:
            return {member.name.partition("/")[2] for member in content}

    @property
    def sdist_names(self) -> set[str]:
        """The files of the source archive, and the links to files, below its one directory."""
        with tarfile.open(self.sdist) as content:
            return {member.name.partition("/")[2] for member in content if member.isfile() or member.issym()}


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Archives]:
    """Build everything, once for all workers of a run."""
    with turn("archives"):
        return {name: _built(name, _of_the_run(tmp_path_factory) / "archives" / name) for name in DISTRIBUTIONS}


@pytest.fixture(scope="session")
def light(archives: dict[str, Archives], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Install adocd alone, once for all workers of a run: its first commands compile all that they import."""
    with turn("archives"):
        return Environment(_of_the_run(tmp_path_factory) / "light", archives["adocd"].wheel)


def _of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all workers of a run find what one of them has made."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def _built(name: str, directory: Path) -> Archives:
    if not (directory / "done").exists():
        _build(name, directory)
        (directory / "done").touch()
    (sdist,) = (directory / "dist").glob("*.tar.gz")
    (wheel,) = (directory / "dist").glob("*.whl")
    (wheel_of_sdist,) = (directory / "again").glob("*.whl")
    return Archives(name, wheel, sdist, wheel_of_sdist)


def _build(name: str, directory: Path) -> None:
    _hatchling(DISTRIBUTIONS[name], directory / "dist")
    (sdist,) = (directory / "dist").glob("*.tar.gz")
    (directory / "unpacked").mkdir()
    subprocess.run(["tar", "-xzf", str(sdist), "-C", str(directory / "unpacked")], check=True)
    (root,) = (directory / "unpacked").iterdir()
    _hatchling(root, directory / "again", "-t", "wheel")


def _hatchling(root: Path, output: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(output), *arguments],
        cwd=root,
        check=True,
        capture_output=True,
    )
