"""The Python agent under the suite: attached by the `lifecycle` program (tests/python_programs) to its databases."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.hosts import KNOWN_DATABASE, KNOWN_FAMILY, Load
from tests.support.programs import Program, environment

LIFECYCLE = Path(__file__).parent.parent / "python_programs" / "lifecycle.py"


class PythonHost:
    """See hosts.Host; one process, one database, with Statistics."""

    def __init__(self, run_dir: Path, directory: Path, *, limiter: int | None, families: Sequence[str]) -> None:
        self.run_dir = run_dir
        self.path = directory
        self._families = list(families)
        self._limiter = {} if limiter is None else {"rate_limiter": str(limiter)}
        self.program = Program([sys.executable, LIFECYCLE], environment(None, run_dir, PYTHONUTF8="1"))
        self.socket_path = run_dir / f"agent-{self.program.pid}.sock"
        self._load = Load(lambda: self.write(500))
        self._stopped = False
        self.open_database()

    def write(self, keys: int, column_family: str = "default") -> None:
        """See Host."""
        self.program.ask("put", self.path, keys, column_family, 1000)

    def flush(self, column_family: str = "default") -> None:
        """See Host."""
        self.program.ask("flush", self.path, column_family)

    def start_load(self) -> None:
        """See Host."""
        self._load.start()

    def stop_load(self) -> None:
        """See Host."""
        self._load.stop()

    def close_database(self) -> None:
        """See Host."""
        self.program.ask("close", self.path)

    def open_database(self) -> None:
        """See Host."""
        options = [
            f"{name}={value}"
            for name, value in {**KNOWN_DATABASE, **KNOWN_FAMILY, **self._limiter, "statistics": "yes"}.items()
        ]
        self.program.ask("open", self.path, *self._families, *options)

    def create_column_family(self, name: str) -> None:
        """See Host."""
        self.program.ask("create_cf", self.path, name)
        self._families.append(name)

    def drop_column_family(self, name: str) -> None:
        """See Host."""
        self.program.ask("drop_cf", self.path, name)
        self._families.remove(name)

    def is_alive(self) -> bool:
        """See Host."""
        if self._stopped:
            return True
        return self.program.process.poll() is None and self.program.try_ask("sleep", 0) == "ok"

    def stop(self) -> None:
        """See Host."""
        if self._stopped:
            return
        self._stopped = True
        self.stop_load()
        try:
            status = self.program.finish()
            assert status == 0, f"the host ended with {status}: {self.program.stderr()}"
            assert self.program.stderr() == "", "nothing of the agent belongs on the host's stderr"
            assert not self.socket_path.exists(), "the socket outlived its process"
        finally:
            self.program.stop()
