"""What tests read from ELF files: by readelf, which every build machine has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path


def _readelf(option: str, path: Path) -> str:
    shown = subprocess.run(["readelf", "--wide", option, str(path)], capture_output=True, text=True, check=True)
    return shown.stdout


def needed(path: Path) -> set[str]:
    """Return the libraries that a file is linked to."""
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", _readelf("--dynamic", path)))


def exported(path: Path) -> set[str]:
    """Return the dynamic symbols that a file defines for others."""
    symbols = set()
    for line in _readelf("--dyn-syms", path).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[4] in ("GLOBAL", "WEAK", "UNIQUE") and fields[6] not in ("UND", "ABS"):
            symbols.add(fields[7].partition("@")[0])
    return symbols


def build_id(path: Path) -> bytes:
    """Return a file's GNU build id."""
    found = re.search(r"Build ID: ([0-9a-f]+)", _readelf("--notes", path))
    assert found is not None, f"{path} has no build id"
    return bytes.fromhex(found[1])


def loaded_library(program: Path, name: str) -> Path:
    """Return the file that a program's library resolves to."""
    shown = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"{re.escape(name)}\S* => (\S+)", shown)
    assert found is not None, shown
    return Path(found[1]).resolve()
