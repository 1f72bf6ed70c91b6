"""The archives of all distributions, built once in a temporary directory."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

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
    """Build everything."""
    return {name: _build(name, tmp_path_factory.mktemp(name)) for name in DISTRIBUTIONS}


def _build(name: str, directory: Path) -> Archives:
    _hatchling(DISTRIBUTIONS[name], directory / "dist")
    (sdist,) = (directory / "dist").glob("*.tar.gz")
    (directory / "unpacked").mkdir()
    subprocess.run(["tar", "-xzf", str(sdist), "-C", str(directory / "unpacked")], check=True)
    (root,) = (directory / "unpacked").iterdir()
    _hatchling(root, directory / "again", "-t", "wheel")
    (wheel,) = (directory / "dist").glob("*.whl")
    (wheel_of_sdist,) = (directory / "again").glob("*.whl")
    return Archives(name, wheel, sdist, wheel_of_sdist)


def _hatchling(root: Path, output: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(output), *arguments],
        cwd=root,
        check=True,
        capture_output=True,
    )
