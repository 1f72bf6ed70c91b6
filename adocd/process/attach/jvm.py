"""Attach the Java agent to a running JVM and detach it, over the JVM's own protocol: a few lines over its Unix socket.

HotSpot opens the socket when it gets SIGQUIT while a file asks for it (attachListener_posix.cpp). A program that does
not catch SIGQUIT would end by it, and a JVM that was told not to listen would print all its threads, so both are looked
for first. No JDK is needed.
"""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adocd.process.attach.answer import answer_file, answered
from adocd.process.attach.problem import AttachRefused
from adocd.process.attach.program import Looked, looked_into, require_readable

_LIBRARY = "libjvm.so"
#: The JVM keeps the jars open that it has classes from.
_MARK, _REPLACED = "adocd-agent", " (deleted)"
_PATIENCE_S, _POLL_S = 10.0, 0.02
#: The first version of the protocol, which every HotSpot speaks: the version, a command and three arguments.
_VERSION = b"1"
_ANSWER_S = 30.0
#: What that library returns for a jar that it cannot read, or that has no agent (InvocationAdapter.c).
_BAD_JAR = "100"


@dataclass(frozen=True, slots=True)
class RunningJvm:
    """A JVM that can be attached to."""

    pid: int
    name: str
    proc: Path

    def locked(self) -> set[Path]:
        """List the directories of the databases that it has open for writing."""
        found = set()
        for descriptor in (self.proc / "fd").iterdir():
            with contextlib.suppress(OSError):
                link = descriptor.readlink()
                if link.name == "LOCK" and (link.parent / "CURRENT").exists():
                    found.add(link.parent)
        return found

    def agent(self) -> Path | None:
        """Return the jar of the agent that is loaded, as the kernel names it; None if there is none."""
        for descriptor in (self.proc / "fd").iterdir():
            with contextlib.suppress(OSError):
                link = descriptor.readlink()
                if link.name.removesuffix(_REPLACED).endswith(".jar") and _MARK in link.name:
                    return link
        return None


def running(pid: int, proc: Path = Path("/proc")) -> RunningJvm | None:
    """Find a JVM; None if the program is something else. Raises AttachRefused."""
    looked = looked_into(pid, proc)
    if not any(Path(path).name == _LIBRARY for path in looked.mapped):
        return None
    _require_listener(pid, looked)
    return RunningJvm(pid, looked.name, looked.proc)


def attach(jvm: RunningJvm, jar: Path, run_directory: Path) -> None:
    """Load the agent's jar; its socket will be in the run directory. Raises AttachRefused."""
    if not jar.is_file():
        raise AttachRefused(f"there is no {jar}: run `adocd agent build --java`")
    loaded = jvm.agent()
    if loaded is not None and loaded != jar.resolve():
        raise AttachRefused(
            f"{jvm.name} ({jvm.pid}) has {loaded} loaded from before, which is not the agent of this adocd: restart it"
        )
    require_readable(jar, jvm.pid, jvm.proc, jvm.name)
    _call(jvm, jar, run_directory, f"run_dir={run_directory}")


def detach(jvm: RunningJvm, run_directory: Path) -> None:
    """End an attached agent: the program is as it was, but for the agent's classes. Raises AttachRefused.

    Restore the options first: it refuses while a restore waits. Clients that change options meanwhile are cut off, and
    what they changed is restored.
    """
    loaded = jvm.agent()
    if loaded is None:
        raise AttachRefused(f"{jvm.name} ({jvm.pid}) has no agent: there is nothing to detach")
    # Its classes are loaded: of the file only the manifest is read again, which says what to call.
    jar = Path(str(loaded).removesuffix(_REPLACED))
    if not jar.is_file():
        raise AttachRefused(
            f"the agent's file {jar} is gone since it was loaded into {jvm.name} ({jvm.pid}), so it cannot be called: "
            "it ends with the program"
        )
    _call(jvm, jar, run_directory, "do=end")


def _call(jvm: RunningJvm, jar: Path, run_directory: Path, settings: str) -> None:
    """Load the jar, which calls the agent whether it is there already or not, and hear its answer."""
    if "," in f"{run_directory}{jar}":  # it ends a setting
        raise AttachRefused(f"the paths {run_directory} and {jar} may have no comma: choose another by ADOCD_RUN_DIR")
    if "=" in str(jar):  # the JVM takes what follows it for the agent's settings
        raise AttachRefused(f"the agent's path {jar} has an equals sign; set XDG_CACHE_HOME and build anew")
    with answer_file(jvm.pid, run_directory) as answer:
        _load(jvm, jar, f"{settings},answer={answer}")
        told = answered(answer)
    if told is None:
        raise AttachRefused(
            f"{jvm.name} ({jvm.pid}) has an agent of another adocd loaded, which does not answer this one: restart it"
        )
    if told["error"]:
        raise AttachRefused(f"the agent in process {jvm.pid} refuses: {told['error']}")


def _load(jvm: RunningJvm, jar: Path, settings: str) -> None:
    with _connected(jvm) as connection:
        words = (_VERSION, b"load", b"instrument", b"false", os.fsencode(f"{jar}={settings}"))
        connection.sendall(b"".join(word + b"\0" for word in words))
        answer = b""
        while chunk := connection.recv(4096):
            answer += chunk
    # The protocol's own status, then that of the library that loads jars; words of it may stand before the number.
    lines = answer.decode(errors="replace").split("\n")
    status = lines[1].rpartition(" ")[2] if len(lines) > 1 else ""
    if (lines[0], status) == ("0", _BAD_JAR):
        raise AttachRefused(
            f"{jvm.name} ({jvm.pid}) finds no agent in {jar}, or cannot read it: build it anew (`adocd agent build "
            "--java`)"
        )
    if (lines[0], status) != ("0", "0"):
        raise AttachRefused(f"{jvm.name} ({jvm.pid}) did not load the agent: {' '.join(lines).strip()}")


def _require_listener(pid: int, looked: Looked) -> None:
    who = f"{looked.name} ({pid})"
    catches = int(looked.status.get("SigCgt", "0"), 16) >> (signal.SIGQUIT - 1) & 1
    arguments = (looked.proc / "cmdline").read_bytes().split(b"\0")
    if not catches or b"-XX:+DisableAttachMechanism" in arguments:
        raise AttachRefused(
            f"{who} lets nobody attach (-Xrs or -XX:+DisableAttachMechanism), or has just begun: start it "
            "under `adocd exec`"
        )


@contextlib.contextmanager
def _connected(jvm: RunningJvm) -> Iterator[socket.socket]:
    path = jvm.proc / "root" / "tmp" / f".java_pid{jvm.pid}"
    if not path.is_socket():
        _wake(jvm, path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ANSWER_S)
        try:
            connection.connect(str(path))
            yield connection
        except OSError as error:
            raise AttachRefused(f"{jvm.name} ({jvm.pid}) does not answer: {error.strerror or error}") from None


def _wake(jvm: RunningJvm, path: Path) -> None:
    """Ask for the socket: by a file of the JVM's user in its directory, and SIGQUIT."""
    request = jvm.proc / "cwd" / f".attach_pid{jvm.pid}"
    try:
        try:
            _make(request)
        except OSError:
            request = jvm.proc / "root" / "tmp" / f".attach_pid{jvm.pid}"
            _make(request)
        os.kill(jvm.pid, signal.SIGQUIT)
        end_s = time.monotonic() + _PATIENCE_S
        while not path.is_socket():
            if time.monotonic() > end_s:
                raise AttachRefused(f"{jvm.name} ({jvm.pid}) does not open its socket for attaching: try again")
            time.sleep(_POLL_S)
    except OSError as error:
        raise AttachRefused(f"{jvm.name} ({jvm.pid}) cannot be asked: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):  # it could not be made either, or the JVM has ended
            request.unlink(missing_ok=True)


def _make(request: Path) -> None:
    """Create the file, or find it; the directory is the JVM's user's, so a link in it is not followed."""
    flags = os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    os.close(os.open(request, flags, 0o600))
