"""A host that is a program which does what it is told on its standard input, as both `lifecycle` programs do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.conformance.hosts import KNOWN_DATABASE, KNOWN_FAMILY, Load
from tests.support.programs import Program


class ProgramHost:
    """See hosts.Host; one process, one database."""

    def __init__(
        self, program: Program, run_dir: Path, directory: Path, families: Sequence[str], added: Mapping[str, str]
    ) -> None:
        """Open the database; `added` are options beside the known ones."""
        self.program = program
        self.run_dir = run_dir
        self.path = directory
        self.socket_path = run_dir / f"agent-{program.pid}.sock"
        self._families = list(families)
        self._options = {**KNOWN_DATABASE, **KNOWN_FAMILY, **added}
        self._load = Load(lambda: self.write(500))
        self._is_open = self._stopped = False
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
        self._is_open = False

    def open_database(self) -> None:
        """See Host."""
        options = [f"{name}={value}" for name, value in self._options.items()]
        self.program.ask("open", self.path, *self._families, *options)
        self._is_open = True

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


class RenewableHost(ProgramHost):
    """A host whose agent learns of a database, and of all that belongs to it, when it is opened; with Statistics.

    For a test another database in the same process is then as good as another process, which takes longer to start.
    """

    def __init__(
        self, program: Program, run_dir: Path, directory: Path, limiter: int | None, families: Sequence[str]
    ) -> None:
        super().__init__(program, run_dir, directory, families, self._added(limiter))

    def renew(self, directory: Path, limiter: int | None, families: Sequence[str]) -> None:
        """Close the database and open another one."""
        self.stop_load()
        if self._is_open:
            self.close_database()
        self.path, self._families = directory, list(families)
        self._options = {**KNOWN_DATABASE, **KNOWN_FAMILY, **self._added(limiter)}
        self.open_database()

    def is_running(self) -> bool:
        """Tell whether there is a process that can be told to."""
        return not self._stopped and self.is_alive()

    def _added(self, limiter: int | None) -> dict[str, str]:
        return {"statistics": "yes"} | ({} if limiter is None else {"rate_limiter": str(limiter)})
