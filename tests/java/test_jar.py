"""The jar needs nothing beside the JDK, and hides nothing of the program's."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from pathlib import Path

from adocd import __version__
from tests.conftest import REPOSITORY

POM = REPOSITORY / "agents" / "java" / "pom.xml"


def test_it_depends_on_nothing_outside(java_agent: Path) -> None:
    shown = subprocess.run(["jdeps", "-summary", java_agent], capture_output=True, text=True, check=True)
    needed = {line.partition(" -> ")[2] for line in shown.stdout.splitlines()}
    assert needed == {"java.base", "java.instrument", "jdk.net"}


def test_all_its_classes_are_under_a_name_of_ours(java_agent: Path) -> None:
    with zipfile.ZipFile(java_agent) as jar:
        classes = [name for name in jar.namelist() if name.endswith(".class")]
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
    assert [name for name in classes if not name.startswith("net/adocd/agent/")] == []
    assert any(name.startswith("net/adocd/agent/shaded/asm/") for name in classes)
    assert f"Implementation-Version: {__version__}" in manifest
    assert java_agent.stat().st_size < 500_000


def test_it_has_its_licenses_in_it(java_agent: Path) -> None:
    """ASM's classes are in it, and its license wants to be there too."""
    with zipfile.ZipFile(java_agent) as jar:
        ours, asm = jar.read("META-INF/LICENSE"), jar.read("META-INF/licenses/asm.txt").decode()
    assert ours == (REPOSITORY / "LICENSE").read_bytes()
    version = re.search(r"<artifactId>asm</artifactId>\s*<version>(.+)</version>", POM.read_text(encoding="utf-8"))
    assert version is not None
    assert asm.startswith(f"This jar has ASM {version[1]} ")
    assert "Copyright (c) 2000-2011 INRIA, France Telecom" in asm
    assert "Redistributions in binary form must reproduce the above copyright" in asm


def test_make_dist_builds_it(java_agent: Path, tmp_path: Path) -> None:
    """The same classes, with the version in its name and in its manifest."""
    made = tmp_path / f"adocd-agent-{__version__}.jar"
    assert str(made) in _make("--dry-run", "dist", f"DIST={tmp_path}")
    _make("jar", f"DIST={tmp_path}")
    assert list(tmp_path.iterdir()) == [made]
    with zipfile.ZipFile(made) as jar, zipfile.ZipFile(java_agent) as kept:
        assert {each.filename: each.CRC for each in jar.infolist()} == {
            each.filename: each.CRC for each in kept.infolist()
        }


def _make(*arguments: str) -> str:
    """Run make as from a shell: `make test` leaves its own settings in the environment."""
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", *arguments], cwd=REPOSITORY, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
