"""Attach to a running program, and detach from it, in an order in which nothing is called on what may be gone."""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adocd.process import compiled, native
from adocd.process.attach import injector, layout, program
from adocd.process.attach.problem import AttachRefused
from adocd.process.attach.program import RunningProgram
from adocd.process.attach.proof import Proof, ProvenDatabase, proven
from adocd.targets.http_request import connected, peer_pid
from adocd.targets.run_dir import agent_sockets

#: Between the first moment at which every close is seen, and the second proof: whoever was about to close a database
#: without being seen has begun by then, which the proof finds.
_SETTLE_S = 1.0
#: Why an open database is left alone.
UNPROVEN = (
    "it cannot be told from other memory: it is being opened or closed, or its LOG does not name it (the program has a "
    "logger of its own)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """What a program has open: the databases that are proven, and the directories of those that are not."""

    program: RunningProgram
    databases: tuple[ProvenDatabase, ...]
    unproven: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class AttachedProgram:
    """What an attachment came to: databases with a session, and why others were left alone, by directory."""

    databases: tuple[ProvenDatabase, ...]
    left_alone: Mapping[Path, str]
    agent: Path


def look(pid: int) -> Found:
    """Find a program's open databases from outside; nothing is loaded. Raises AttachRefused."""
    there = program.running(pid)
    return _look(there, _proof(there))


def attach(pid: int, run_directory: Path, environment: Mapping[str, str]) -> AttachedProgram:
    """Load the agent, and begin a session for each database that is proven twice. Raises AttachRefused, NativeError.

    `environment` is what the agent takes for its environment variables. If nothing is proven the second time, the agent
    leaves again.
    """
    injector.require()
    there = program.running(pid)
    if socket_of(pid, run_directory) is not None:
        raise AttachRefused(f"{there.name} ({pid}) has an agent already: see it by `adocctl targets`")
    library = compiled.rocksdb(there.rocksdb.path)
    agent = native.find(library)
    loaded = there.agent()
    if loaded is not None and loaded != agent.resolve():  # the kernel names it without links
        raise AttachRefused(
            f"{there.name} ({pid}) has {loaded} loaded from before, which is not the agent of this adocd: restart it"
        )
    program.require_readable(agent, pid, there.proc, there.name)
    proof = _proof(there)
    first = _look(there, proof)
    if not first.databases:
        raise AttachRefused(_nothing(first))
    inside = _Inside(pid, injector.loader(library), agent, run_directory)
    has_begun = False
    try:
        inside.ask({
            "do": "begin", "librocksdb": str(there.rocksdb.path), "ADOCD_RUN_DIR": str(run_directory), **environment
        })  # fmt: skip
        has_begun = True
        time.sleep(_SETTLE_S)
        second = _look(there, proof)
        sure = sorted(set(first.databases) & set(second.databases))
        if not sure:
            raise AttachRefused(f"{there.name} ({pid}) has closed its databases meanwhile: try again")
        addresses = " ".join(hex(each.address) for each in sure)
        refused = inside.ask({"do": "adopt", "databases": addresses})
    except BaseException as error:  # Ctrl-C, too, by which it may begin all the same
        if has_begun or not isinstance(error, AttachRefused):
            with contextlib.suppress(AttachRefused):  # why it is broken off says more: the program may have ended
                inside.ask({"do": "end"})
        raise
    reasons = {each.directory: refused[hex(each.address)] for each in sure if hex(each.address) in refused}
    reasons |= dict.fromkeys(second.unproven, UNPROVEN)
    return AttachedProgram(tuple(each for each in sure if each.directory not in reasons), reasons, agent)


def detach(pid: int, run_directory: Path) -> None:
    """End an attached agent: the program is as it was, but for the library's memory. Raises AttachRefused.

    Restore the options first: this only ends the agent.
    """
    injector.require()
    there = program.running(pid)
    agent = there.agent()
    if agent is None:
        raise AttachRefused(f"{there.name} ({pid}) has no agent: there is nothing to detach")
    if not agent.exists():
        raise AttachRefused(
            f"the agent's file {str(agent).removesuffix(' (deleted)')} was replaced since it was loaded into "
            f"{there.name} ({pid}), so it cannot be called: it ends with the program"
        )
    library = compiled.rocksdb(there.rocksdb.path)
    _Inside(pid, injector.loader(library), agent, run_directory).ask({"do": "end"})


def socket_of(pid: int, run_directory: Path) -> Path | None:
    """Return the socket of the program's agent in the run directory; None if there is none.

    A name proves nothing: a process that was killed leaves its socket behind, and its pid may be used again; and in a
    container that shares the directory, another process may have the same pid.
    """
    names = (f"agent-{pid}.sock", f"agent-{pid}-")
    named = (each for each in agent_sockets(run_directory) if each.name.startswith(names))
    return next((each for each in named if _listens(pid, each)), None)


def _listens(pid: int, socket: Path) -> bool:
    try:
        with connected(socket) as connection:
            return peer_pid(connection) == pid
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:  # such as a full queue: it cannot be told whose it is
        return True


def _proof(there: RunningProgram) -> Proof:
    there.require_own_code()
    library = there.rocksdb
    return Proof(there.read, layout.learned(library.path), library.base)


def _look(there: RunningProgram, proof: Proof) -> Found:
    locked = there.locked()
    databases = proven(proof, there.pointers(), locked, there.directory_of, there.is_log_of)
    return Found(there, tuple(databases), tuple(sorted(locked - {each.directory for each in databases})))


def _nothing(found: Found) -> str:
    who = f"{found.program.name} ({found.program.pid})"
    if not found.unproven:
        return f"{who} has no database open for writing: there is nothing to attach to"
    named = ", ".join(str(each) for each in found.unproven)
    return f"{who} has {named} open, and {UNPROVEN}: start it under `adocd exec`"


@dataclass(frozen=True, slots=True)
class _Inside:
    """The agent's entry in a program."""

    pid: int
    loader: Path
    agent: Path
    run_directory: Path

    def ask(self, asked: Mapping[str, str]) -> Mapping[str, str]:
        """Let it do something; returns which databases it left alone, and why. Raises AttachRefused."""
        answer = injector.call(self.pid, self.loader, self.agent, self.run_directory, asked)
        if answer["error"]:
            raise AttachRefused(f"the agent in process {self.pid} refuses: {answer['error']}")
        left_alone: Mapping[str, str] = answer["left_alone"]
        return left_alone
