"""The commands of docs/upgrade.md and docs/uninstall.md, run as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from tests.conftest import REPOSITORY

PAGES = ("upgrade.md", "uninstall.md")


def blocks(page: str) -> list[str]:
    """Return the page's blocks of commands."""
    return re.findall(r"^```sh\n(.*?)^```$", (REPOSITORY / "docs" / page).read_text(), re.M | re.S)


def line(page: str, beginning: str) -> str:
    """Return the page's first command line that begins so."""
    return next(words for block in blocks(page) for words in block.splitlines() if words.startswith(beginning))


def run(command: str, dist: Path, **environment: str) -> None:
    """Run a command line where the archives are in dist/, by a user who says yes to apt."""
    with tempfile.TemporaryDirectory(prefix="adocd-page-") as made:
        directory = Path(made)
        directory.chmod(0o755)  # so that apt's own user may read what it installs
        (directory / "dist").symlink_to(dist)
        (directory / "apt.conf").write_text('APT::Get::Assume-Yes "true";\n')
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=directory,
            env=dict(os.environ) | {"APT_CONFIG": str(directory / "apt.conf")} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
