"""Programs whose database can be closed and opened again within the process, or with it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Protocol

from tests.chaos.hosts import (
    MEMTABLE_BYTES,
    MIB,
    SLOWDOWN_TRIGGER,
    STOP_TRIGGER,
    JavaProgram,
    PythonProgram,
    wait_until_written,
)
from tests.support.programs import Program, environment


class Restartable(Protocol):
    """A program with one database that is written while it is open."""

    name: str
    pools: bool
    run_dir: Path
    directory: Path

    @property
    def pid(self) -> int:
        """The process, the last one that was started."""

    def start(self) -> None:
        """Start the process and open the database."""

    def open(self) -> None:
        """Open the database."""

    def close(self) -> None:
        """Close it in an orderly way; the process goes on."""

    def end(self) -> None:
        """End the process in an orderly way."""

    def kill(self) -> None:
        """End it by SIGKILL, if it runs."""


class NativeProgram:
    """tests/native_programs/lifecycle.cc under the native agent: it opens its database with options of its own."""

    name = "native"
    pools = False
    _OPTIONS = (
        f"write_buffer_size={MEMTABLE_BYTES}", f"target_file_size_base={MIB}", f"max_bytes_for_level_base={4 * MIB}",
        f"level0_slowdown_writes_trigger={SLOWDOWN_TRIGGER}", f"level0_stop_writes_trigger={STOP_TRIGGER}",
        "compression=kNoCompression",
    )  # fmt: skip

    def __init__(self, run_dir: Path, programs: Path, library: Path) -> None:
        self.run_dir = run_dir
        self.directory = run_dir / "native-db"
        self.pid = 0
        self._command = [programs / "lifecycle"]
        self._environment = environment(library, run_dir)
        self._program: Program | None = None
        self._writing = threading.Event()
        self._writer: threading.Thread | None = None

    def start(self) -> None:
        """See Restartable."""
        self._program = Program(self._command, self._environment)
        self.pid = self._program.pid
        self.open()

    def open(self) -> None:
        """See Restartable."""
        self._there.ask("open", self.directory, *self._OPTIONS)
        self._writing.set()
        self._writer = threading.Thread(target=self._write)
        self._writer.start()
        wait_until_written(self.run_dir, self.pid)

    def close(self) -> None:
        """See Restartable."""
        self._stop_writing()
        self._there.ask("close", self.directory)

    def end(self) -> None:
        """See Restartable."""
        self._stop_writing()
        status = self._there.finish()
        assert status == 0, f"it ended with {status}: {self._there.stderr()}"
        self._there.stop()
        self._program = None

    def kill(self) -> None:
        """See Restartable: in the middle of a write."""
        if self._program is None:
            return
        program, self._program = self._program, None
        self._writing.clear()
        program.process.kill()
        program.process.wait()
        self._stop_writing()
        program.stop()

    @property
    def _there(self) -> Program:
        assert self._program is not None
        return self._program

    def _stop_writing(self) -> None:
        self._writing.clear()
        if self._writer is not None:
            self._writer.join()
            self._writer = None

    def _write(self) -> None:
        """Write 1 MB at a time, in bursts that overflow its memtables."""
        program = self._there
        while self._writing.is_set():
            try:
                answer = program.try_ask("put", self.directory, 1000, "default", 1000)
            except OSError:
                answer = ""
            if answer != "ok":
                assert not self._writing.is_set(), f"put: {answer!r}"
                return
            time.sleep(0.2)


class ReloadingProgram:
    """One of the hosts: each open but the first takes the options from its OPTIONS file, tuned or not."""

    def __init__(self, run_dir: Path, name: str, kind: type[PythonProgram] | type[JavaProgram]) -> None:
        self.run_dir = run_dir
        self.name = name
        self.pools = kind.pools
        self._host = kind(run_dir, name=f"{name}-db", keys_per_s=3000)
        self.directory = self._host.directory
        self._opened = self._runs = False

    @property
    def pid(self) -> int:
        """See Restartable."""
        return self._host.pid

    def start(self) -> None:
        """See Restartable."""
        self._host.start(reload=self._opened)
        self._opened = self._runs = True

    def open(self) -> None:
        """See Restartable."""
        self._host.open(reload=True)

    def close(self) -> None:
        """See Restartable."""
        self._host.close()

    def end(self) -> None:
        """See Restartable."""
        self._host.end()
        self._runs = False

    def kill(self) -> None:
        """See Restartable."""
        if self._runs:
            self._runs = False
            self._host.kill()
