"""`adocd exec`: start a program under the native agent, as transparently as possible for its caller."""

import mmap
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from adocd.process import compiled, native
from adocd.targets import run_dir

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
#: Part of a property name that every build of RocksDB contains, so it shows a statically linked RocksDB.
_ROCKSDB_MARK = b"num-immutable-mem-table"


class CannotAttach(Exception):
    """The program cannot be started under the agent; the message is one sentence."""


class NotFound(CannotAttach):
    """There is no such program; a shell exits with 127 for this."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What the agent may add to the host's options at open; None keeps the agent's default."""

    statistics: str | None = None
    rate_limiter_bytes_per_s: int | None = None


def resolve(name: str) -> Path:
    """Find the program as a shell would. Raises NotFound."""
    found = shutil.which(name)
    if found is None:
        raise NotFound(f"{name}: there is no such program; give its path, or a name that is in PATH")
    return Path(found)


def librocksdb_of(program: Path) -> Path | None:
    """Find the librocksdb that the program loads; None for a script or a launcher, which may start one that does.

    Raises CannotAttach for a program that a preloaded library cannot reach: linked statically, to RocksDB or
    entirely, or gaining privileges when it starts (ld.so(8), secure-execution mode).
    """
    try:
        return _librocksdb_of(program)
    except OSError as error:
        raise CannotAttach(f"{program} cannot be looked into: {error.strerror}") from None


def _librocksdb_of(program: Path) -> Path | None:
    with program.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
        if program.stat().st_mode & 0o6000:
            raise CannotAttach(f"{program} is set-user-ID or set-group-ID, and the loader preloads nothing into it")
        loaded = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
        for line in loaded.stdout.splitlines():
            name, _, rest = line.strip().partition(" => ")
            if name.startswith("librocksdb.so"):
                path = rest.partition(" (")[0]
                if path == "not found":
                    raise CannotAttach(f"{program} needs {name}, which is not on this machine; install it")
                return Path(path).resolve()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            static = content.find(_ROCKSDB_MARK) >= 0
    if static:
        raise CannotAttach(
            f"{program} is linked statically to RocksDB, so the agent cannot be preloaded into it; "
            "link it to librocksdb.so, or link the agent into it (agents/native/README.md)"
        )
    if loaded.returncode != 0:
        raise CannotAttach(f"{program} is a static executable: nothing can be preloaded into it")
    return None


def environment(agent: Path, settings: AgentSettings, marker: Path, directory: Path) -> dict[str, str]:
    """Return the program's environment: the caller's plus the agent."""
    added = {"ADOCD_RUN_DIR": str(directory), "ADOCD_AGENT_MARKER": str(marker)}
    preload = os.environ.get("LD_PRELOAD")
    added["LD_PRELOAD"] = f"{agent}:{preload}" if preload else str(agent)
    if settings.statistics is not None:
        added["ADOCD_AGENT_STATISTICS"] = settings.statistics
    if settings.rate_limiter_bytes_per_s is not None:
        added["ADOCD_AGENT_RATE_LIMITER"] = str(settings.rate_limiter_bytes_per_s)
    return dict(os.environ) | added


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How the program ended: its exit status as a shell reports it, and whether it opened a database."""

    status: int
    opened: bool


def run(command: list[str], settings: AgentSettings) -> ProgramEnd:
    """Run the program to its end and forward signals to it. Raises CannotAttach or compiled.NativeError."""
    program = resolve(command[0])
    agent = native.find(compiled.rocksdb(librocksdb_of(program)))
    if set(str(agent)) & set(" :"):  # ld.so separates names in LD_PRELOAD by these
        raise CannotAttach(f"the agent's path {agent} has a space or a colon; set XDG_CACHE_HOME and build anew")
    directory = run_dir.run_dir()
    try:
        run_dir.ensure(directory)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CannotAttach(
            f"the run directory {directory} cannot be used ({reason}); set ADOCD_RUN_DIR to one you may write"
        ) from None
    with tempfile.TemporaryDirectory(prefix="adocd-exec-") as scratch:
        marker = Path(scratch) / "opened"
        try:
            child = subprocess.Popen(
                [command[0], *command[1:]],
                executable=program,
                env=environment(agent, settings, marker, directory),
            )
        except OSError as error:
            raise CannotAttach(f"{program} cannot be started: {error.strerror}") from None
        status = _wait(child)
        return ProgramEnd(status if status >= 0 else 128 - status, marker.exists())


def _wait(child: subprocess.Popen[bytes]) -> int:
    def forward(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        # The terminal sends Ctrl-C and Ctrl-\ to the whole process group, so the child has them already.
        if number in (signal.SIGINT, signal.SIGQUIT) and _in_foreground():
            return
        child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        return child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """Whether the terminal sends key signals to our process group."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
