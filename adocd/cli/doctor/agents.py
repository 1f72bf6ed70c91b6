"""Checks of agents: those with sockets in the run directory, and the native agent on disk."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from adocd import __version__
from adocd.cli.doctor.finding import DoctorFinding, ok, problem, warning
from adocd.model.database import Info
from adocd.process import compiled, native
from adocd.process.compiled import NativeError
from adocd.targets.agent import Agent
from adocd.targets.errors import Dead, NotAllowed, Silent, TargetError, WrongVersion
from adocd.targets.run_dir import agent_sockets


def native_agent() -> Iterator[DoctorFinding]:
    """Check whether a native agent exists for the librocksdb that this machine's linker finds."""
    check = "native agent"
    try:
        library = compiled.rocksdb()
    except NativeError as error:
        yield ok(check, f"none is needed: {error}")
        return
    try:
        path = native.find(library)
    except NativeError as error:
        yield warning(check, str(error), "until then `adocd exec` cannot attach to programs that load it")
    else:
        yield ok(check, f"{path} is for {library.path}")


def running(directory: Path) -> list[DoctorFinding]:
    """Ask every agent in the run directory to identify itself."""
    sockets = agent_sockets(directory)
    if not sockets:
        return [ok("agents", f"none is in {directory}: no program runs under an agent there")]
    return asyncio.run(_all(sockets))


async def _all(sockets: list[Path]) -> list[DoctorFinding]:
    return list(await asyncio.gather(*(_one(socket) for socket in sockets)))


async def _one(socket: Path) -> DoctorFinding:
    check, agent = "agents", Agent(socket)
    try:
        info = await agent.info()
        databases = await agent.databases()
    except Dead:
        return warning(check, f"{socket} is left from a process that has ended", f"it does no harm; rm {socket}")
    except NotAllowed as error:
        return problem(
            check,
            f"{socket}: {error}",
            "ask as root; a daemon of another user needs to be in the agent's ADOCD_ALLOW_UIDS",
        )
    except WrongVersion as error:
        return problem(check, str(error), "until then adocd cannot observe it")
    except Silent as error:
        return warning(check, f"{socket}: {error}", "its database may be in a stall: adocctl explain says so")
    except TargetError as error:
        return problem(
            check, f"{socket}: {error}", "remove it if it does not belong to an agent; agents make their own sockets"
        )
    finally:
        await agent.close()
    return _known(info, len(databases))


def _known(info: Info, databases: int) -> DoctorFinding:
    who = f"{info.program} ({info.pid}) of {info.user}: {info.agent.kind} agent {info.agent.version}"
    what = f"{who}, protocol {info.protocol}, RocksDB {info.rocksdb_version}, {databases} open"
    if info.agent.version != __version__:
        return warning(
            "agents", f"{what}; this adocd is {__version__}",
            "this works, since both speak the same protocol; restart the program to load the newer agent",
        )  # fmt: skip
    return ok("agents", what)
