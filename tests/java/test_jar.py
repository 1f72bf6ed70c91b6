"""The jar needs nothing beside the JDK, and hides nothing of the program's."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

from adocd import __version__


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
