"""The embedded workload: a Python program that writes into RocksDB through rocksdict, under the Python agent.

It needs no system package. The program (embedded_program.py) is a process of its own, as a user's would be.
"""

import importlib.util
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adocd.process.bundled import agent_directory
from adocd_bench.errors import ProgramMissing, RunFailed
from adocd_bench.programs.fill import Fill, FillReport, last_line


@dataclass(frozen=True)
class Embedded:
    """rocksdict as it is installed beside adocd, and where the Python agent is."""

    rocksdb_version: str
    agent: Path
    name: str = "embedded"

    @property
    def title(self) -> str:
        """Say in a few words what writes."""
        return f"A Python program with rocksdict, RocksDB {self.rocksdb_version}, random writes"

    def command(self, fill: Fill) -> list[str]:
        """Build the command line; the program attaches the agent itself."""
        return [
            *(sys.executable, "-m", "adocd_bench.programs.embedded_program"),
            *(str(fill.directory), str(fill.seconds), str(fill.seed), str(fill.report)),
        ]

    def environment(self) -> Mapping[str, str]:
        """Let it import the agent that adocd ships, in addition to everything that this process can import."""
        inherited = os.environ.get("PYTHONPATH")
        return {"PYTHONPATH": str(self.agent) if not inherited else f"{self.agent}{os.pathsep}{inherited}"}

    def report(self, text: str, asked_seconds: int) -> FillReport:  # noqa: ARG002
        """Read the JSON line at the end of its output. Raises RunFailed when there is none."""
        try:
            result = json.loads(last_line(text))
            return FillReport(result["writes"] / result["seconds"], result["seconds"], result["writes"])
        except (ValueError, KeyError, TypeError, ZeroDivisionError):
            raise RunFailed(f"the program reported no result; the last it said was: {last_line(text)}") from None


def find_embedded() -> Embedded:
    """Find rocksdict and the Python agent. Raises ProgramMissing with the way out."""
    if importlib.util.find_spec("rocksdict") is None:
        raise ProgramMissing("rocksdict is missing from this installation of adocd: pip install rocksdict")
    try:
        return Embedded(_rocksdb_version(), agent_directory("python"))
    except FileNotFoundError as error:
        raise ProgramMissing(str(error)) from None


def _rocksdb_version() -> str:
    """Ask RocksDB itself, which writes its version into every database; rocksdict has no call for it."""
    from rocksdict import Rdict  # noqa: PLC0415  (loading RocksDB takes a while, and few commands need it)

    with tempfile.TemporaryDirectory(prefix="adocd-version-") as directory:
        Rdict(directory).close()
        written = "".join(path.read_text(encoding="utf-8") for path in Path(directory).glob("OPTIONS-*"))
    match = re.search(r"^\s*rocksdb_version=(\S+)$", written, re.MULTILINE)
    if match is None:
        raise ProgramMissing("rocksdict wrote a database without a version: is it the rocksdict of PyPI?")
    return match[1]
