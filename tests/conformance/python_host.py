"""The Python agent under the suite: attached by the `lifecycle` program (tests/python_programs) to its databases."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.program_host import RenewableHost
from tests.support.programs import Program, environment

LIFECYCLE = Path(__file__).parent.parent / "python_programs" / "lifecycle.py"


class PythonHost(RenewableHost):
    """See hosts.Host."""

    def __init__(self, run_dir: Path, directory: Path, *, limiter: int | None, families: Sequence[str]) -> None:
        program = Program([sys.executable, LIFECYCLE], environment(None, run_dir, PYTHONUTF8="1"))
        super().__init__(program, run_dir, directory, limiter, families)
