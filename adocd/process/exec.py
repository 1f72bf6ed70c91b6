"""`adocd exec`: become a program under the native agent.

This process becomes the program (execve), so nothing stands between the program and its caller: output, signals,
terminal and exit code are the program's own, and no parent takes memory or must be killed too. What only a parent could
say, that the program ended without opening a database, the agent says at the program's exit
(agents/native/src/exec_report.cc).
"""

import mmap
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from adocd.process import compiled, java_agent, native
from adocd.targets import run_dir

#: Python ignores these; a program started by a shell does not.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
#: The kernel reads no more of a script's first line (BINPRM_BUF_SIZE).
_SHEBANG_BYTES_MOST = 256
_JVM_LIBRARIES = ("libjli.so", "libjvm.so")
#: MyRocks, a storage engine, is loaded when these run: it brings a RocksDB of its own and exports its symbols.
_MYROCKS_SERVERS = frozenset(("mariadbd", "mysqld", "mariadbd-safe", "mysqld_safe", "mysqld-debug"))


class CannotAttach(Exception):
    """The program cannot be started under the agent; the message is one sentence."""


class IsJvm(CannotAttach):
    """The program is a JVM, for which there is the Java agent."""


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
    """Find the librocksdb that the program loads; None for a launcher, which may start one that does.

    For a script this looks at its interpreter. Raises CannotAttach for a program that a preloaded library cannot reach
    (linked statically, to RocksDB or entirely, or gaining privileges when it starts: ld.so(8), secure-execution mode),
    or whose own RocksDB, loaded later, the agent's would take the place of, and IsJvm for a JVM, whose RocksDB is a
    copy of its own.
    """
    if _MYROCKS_SERVERS & {program.name, program.resolve().name}:
        raise CannotAttach(
            f"{program} may load MyRocks, whose own copy of RocksDB the agent's would take the place of: observe the "
            "database's directory instead (docs/attach.md)"
        )
    try:
        return _librocksdb_of(_interpreted_by(program) or program, program)
    except (OSError, ELFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CannotAttach(f"{program} cannot be looked into: {reason}") from None


def _librocksdb_of(file: Path, program: Path) -> Path | None:
    with file.open("rb") as content:
        if content.read(4) != b"\x7fELF":
            return None
        if file.stat().st_mode & 0o6000:
            raise CannotAttach(f"{program} is set-user-ID or set-group-ID, and the loader preloads nothing into it")
        is_static = not any(segment["p_type"] == "PT_INTERP" for segment in ELFFile(content).iter_segments())
        libraries = {} if is_static else _libraries(file)
        if any(name.startswith(_JVM_LIBRARIES) for name in libraries):
            raise IsJvm(
                f"{program} is not java itself but starts a JVM, whose rocksdbjni brings its own copy of RocksDB: let "
                "it start with -javaagent:JAR, where `adocd agent path --java` prints JAR (docs/attach.md)"
            )
        for name, path in libraries.items():
            if name.startswith("librocksdb.so"):
                if path is None:
                    raise CannotAttach(f"{program} needs {name}, which is not on this machine; install it")
                return path.resolve()
        with mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            has_rocksdb = mapped.find(compiled.ROCKSDB_MARK) >= 0
    if has_rocksdb:
        raise CannotAttach(
            f"{program} is linked statically to RocksDB, so the agent cannot be preloaded into it; "
            "link it to librocksdb.so, or link the agent into it (agents/native/README.md)"
        )
    if is_static:
        raise CannotAttach(f"{program} is a static executable: nothing can be preloaded into it")
    return None


def _interpreted_by(program: Path) -> Path | None:
    """Return the interpreter of a script, that of `env` included; None if the program is no script."""
    with program.open("rb") as file:
        line = file.readline(_SHEBANG_BYTES_MOST)
    words = line.removeprefix(b"#!").decode(errors="replace").split()
    if not line.startswith(b"#!") or not words:
        return None
    if Path(words[0]).name == "env":
        named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(named[0]) if named else None
        return None if found is None else Path(found)
    return Path(words[0])


def _libraries(program: Path) -> dict[str, Path | None]:
    """Return what the loader would load, by name; None for what it does not find."""
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
    found: dict[str, Path | None] = {}
    for line in listed.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow:
            path = rest.partition(" (")[0]
            found[name] = None if path == "not found" else Path(path)
    return found


def environment(agent: Path, settings: AgentSettings, directory: Path) -> dict[str, str]:
    """Return the program's environment: the caller's plus the agent."""
    added = {"ADOCD_RUN_DIR": str(directory), "ADOCD_AGENT_EXEC_PID": str(os.getpid())}
    preload = os.environ.get("LD_PRELOAD")
    added["LD_PRELOAD"] = f"{agent}:{preload}" if preload else str(agent)
    if settings.statistics is not None:
        added["ADOCD_AGENT_STATISTICS"] = settings.statistics
    if settings.rate_limiter_bytes_per_s is not None:
        added["ADOCD_AGENT_RATE_LIMITER"] = str(settings.rate_limiter_bytes_per_s)
    return dict(os.environ) | added


def _java_with_agent(command: list[str], settings: AgentSettings) -> list[str]:
    """Put the Java agent into java's own options: by JDK_JAVA_OPTIONS, java would announce it on stderr."""
    if settings != AgentSettings():
        raise CannotAttach("--statistics and --rate-limiter are the native agent's; a JVM's own program sets these")
    jar = java_agent.find()
    if "=" in str(jar):  # java takes what follows it for the agent's settings
        raise CannotAttach(f"the agent's path {jar} has an equals sign; set XDG_CACHE_HOME and build anew")
    return [command[0], f"-javaagent:{jar}", *command[1:]]


def become(command: list[str], settings: AgentSettings) -> NoReturn:
    """Replace this process by the program. Raises CannotAttach or compiled.NativeError."""
    program = resolve(command[0])
    directory = run_dir.run_dir()
    try:
        agent = native.find(compiled.rocksdb(librocksdb_of(program)))
        if set(str(agent)) & set(" :"):  # ld.so separates names in LD_PRELOAD by these
            raise CannotAttach(f"the agent's path {agent} has a space or a colon; set XDG_CACHE_HOME and build anew")
        added = environment(agent, settings, directory)
    except IsJvm:
        if _interpreted_by(program) is not None or program.name != "java":
            raise
        command = _java_with_agent(command, settings)
        added = dict(os.environ) | {"ADOCD_RUN_DIR": str(directory)}
    try:
        run_dir.ensure(directory)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CannotAttach(
            f"the run directory {directory} cannot be used ({reason}); set ADOCD_RUN_DIR to one you may write"
        ) from None
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(program, command, added)  # noqa: S606  (a shell is not wanted)
    except OSError as error:
        raise CannotAttach(f"{program} cannot be started: {error.strerror}") from None
