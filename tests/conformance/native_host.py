"""The native agent under the suite: preloaded into the `lifecycle` fixture program (tests/native_programs)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.conformance.hosts import KNOWN_DATABASE, KNOWN_FAMILY, Load
from tests.support.programs import Program, environment


class NativeHost:
    """See hosts.Host; one process, one database."""

    def __init__(
        self,
        lifecycle: Path,
        library: Path,
        run_dir: Path,
        directory: Path,
        *,
        limiter: int | None,
        families: Sequence[str],
    ) -> None:
        self.run_dir = run_dir
        self.path = directory
        self._families = list(families)
        added = {} if limiter is None else {"ADOCD_AGENT_RATE_LIMITER": str(limiter)}
        self._program = Program([lifecycle], environment(library, run_dir, **added))
        self.socket_path = run_dir / f"agent-{self._program.pid}.sock"
        self._load = Load(lambda: self.write(500))
        self._stopped = False
        self.open_database()

    def write(self, keys: int, column_family: str = "default") -> None:
        """See Host."""
        self._program.ask("put", self.path, keys, column_family, 1000)

    def flush(self, column_family: str = "default") -> None:
        """See Host."""
        self._program.ask("flush", self.path, column_family)

    def start_load(self) -> None:
        """See Host."""
        self._load.start()

    def stop_load(self) -> None:
        """See Host."""
        self._load.stop()

    def close_database(self) -> None:
        """See Host."""
        self._program.ask("close", self.path)

    def open_database(self) -> None:
        """See Host."""
        options = [f"{name}={value}" for name, value in {**KNOWN_DATABASE, **KNOWN_FAMILY}.items()]
        self._program.ask("open", self.path, *self._families, *options)

    def create_column_family(self, name: str) -> None:
        """See Host."""
        self._program.ask("create_cf", self.path, name)
        self._families.append(name)

    def drop_column_family(self, name: str) -> None:
        """See Host."""
        self._program.ask("drop_cf", self.path, name)
        self._program.ask("delete_handle", self.path, name)
        self._families.remove(name)

    def is_alive(self) -> bool:
        """See Host."""
        if self._stopped:
            return True
        return self._program.process.poll() is None and self._program.try_ask("sleep", 0) == "ok"

    def stop(self) -> None:
        """See Host."""
        if self._stopped:
            return
        self._stopped = True
        self.stop_load()
        try:
            status = self._program.finish()
            assert status == 0, f"the host ended with {status}: {self._program.stderr()}"
            assert self._program.stderr() == "", "nothing of the agent belongs on the host's stderr"
            assert not self.socket_path.exists(), "the socket outlived its process"
        finally:
            self._program.stop()
