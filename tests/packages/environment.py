"""Empty virtual environments; made by uv, because that takes a second."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.cli.harness import Done

UV = Path(sys.executable).with_name("uv")


class Environment:
    """A virtual environment with these wheels and what they depend on; with pip, too, if it is to be seeded.

    One that is there is taken as it is.
    """

    def __init__(self, root: Path, *wheels: Path, seed: bool = False) -> None:
        self.root = root
        self.home = root / "home"
        done = root / "done"
        if not done.exists():
            self._uv("venv", "--no-project", *(["--seed"] if seed else []), "--python", sys.executable, str(root))
            self.home.mkdir()
            self.install(*wheels)
            done.touch()

    def install(self, *wheels: Path) -> None:
        """Install wheels, and what they depend on."""
        self._uv("pip", "install", "--python", str(self.root / "bin" / "python"), *map(str, wheels))

    def uninstall(self, name: str) -> None:
        """Remove a distribution, and leave what it depends on."""
        self._uv("pip", "uninstall", "--python", str(self.root / "bin" / "python"), name)

    def run(self, name: str, *arguments: str, **environment: str) -> Done:
        """Run a command of it, with nothing of this process's environment but the system's PATH."""
        done = subprocess.run(
            [str(self.root / "bin" / name), *arguments],
            cwd=self.home,
            env={"PATH": os.defpath, "HOME": str(self.home), "COLUMNS": "200"} | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def installed(self) -> set[str]:
        """The distributions in it."""
        listed = self._uv("pip", "list", "--format", "json", "--python", str(self.root / "bin" / "python"))
        return {entry["name"] for entry in json.loads(listed)}

    def _uv(self, *arguments: str) -> str:
        done = subprocess.run(
            [str(UV), "--quiet", *arguments],
            cwd=self.root.parent,
            env=dict(os.environ) | {"UV_PYTHON_DOWNLOADS": "never"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
