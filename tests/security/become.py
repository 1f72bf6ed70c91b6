"""Runs a Python program as another user: become.py UID GROUPS MODULE|FILE ARGUMENTS.

What it needs is imported before: that user may not be able to read the interpreter's files, or this checkout.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401
import importlib
import importlib.util
import os
import pickle  # noqa: F401
import sys
from pathlib import Path
from types import ModuleType


def load(name: str) -> ModuleType:
    """Import a module by its name, or a file."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    specification = importlib.util.spec_from_file_location("program", Path(name))
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["program"] = module
    specification.loader.exec_module(module)
    return module


def main() -> None:
    """Become that user for good, and run the program's `main`."""
    uid, groups, name, *arguments = sys.argv[1:]
    program = load(name)
    if name.startswith("adocd"):
        for imported_when_it_runs in ("adocd.cli.serve", "adocd.process.serve", "uvicorn.lifespan.off"):
            load(imported_when_it_runs)
    if int(uid) != os.geteuid():
        os.setgroups([int(group) for group in groups.split(",") if group])
        os.setgid(int(uid))
        os.setuid(int(uid))
    os.umask(0o007)
    sys.argv = [name, *arguments]
    program.main()


if __name__ == "__main__":
    main()
