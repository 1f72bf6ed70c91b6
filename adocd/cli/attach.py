"""`adocd attach` and `adocd detach`: an agent in a program that is already running."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from adocd.api import restored as after_restore
from adocd.api import sentences
from adocd.cli.agent_built import find_or_build_agent, find_or_build_java_agent
from adocd.cli.exits import Exit, fail
from adocd.cli.target import Json
from adocd.cli.terminal import say
from adocd.daemon.change.panic import PanicResult, restore_to_leave
from adocd.process.attach import attachment, jvm
from adocd.process.attach.attachment import AttachedProgram, Found
from adocd.process.attach.jvm import RunningJvm
from adocd.process.attach.problem import AttachRefused
from adocd.process.compiled import NativeError
from adocd.targets import run_dir

Pid = Annotated[int, typer.Argument(metavar="PID", min=1, help="The program's process id.")]
_WARNING = (
    "This loads a library into a running program, and redirects its calls. It is experimental: if adocd is wrong about "
    "what it finds in the program's memory, the program crashes. Try it first where that does no harm, then repeat the "
    "command with --experimental. With --dry-run nothing is loaded."
)


def attach(
    pid: Pid,
    experimental: Annotated[
        bool, typer.Option("--experimental", help="Do it, knowing that this is experimental.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be attached to.")] = False,
    as_json: Json = False,
) -> None:
    """Load the native agent into a program that is already running (experimental).

    The program must use the shared librocksdb. Every database that it has open for writing is proven to be one before
    anything is called on it. The agent is then like a preloaded one, but hears of no events, and takes the options that
    it finds for the originals. `adocd detach` ends it.

    A JVM gets the Java agent instead, over the JVM's own protocol for that, which is not experimental.
    """
    try:
        java = jvm.running(pid)
        if java is not None:
            _attach_to_jvm(java, dry_run, as_json)
            return
        if dry_run:
            _show_found(attachment.look(pid), as_json)
            return
        if not experimental:
            fail(_WARNING, Exit.USAGE)
        find_or_build_agent()
        directory = _run_directory()
        _show_attached(attachment.attach(pid, directory, {}), as_json)
    except (AttachRefused, NativeError) as error:
        fail(str(error), Exit.NO_AGENT)


def detach(
    pid: Pid,
    as_json: Json = False,
) -> None:
    """Restore a program's options, and end the agent that was attached to it.

    The program is then as it was, but for the agent's library or classes, which stay in its memory. If an option cannot
    be restored now, the agent stays.
    """
    directory = _run_directory()
    try:
        java = jvm.running(pid)
        socket = attachment.socket_of(pid, directory)
        unlike = [] if socket is None else _left(pid, asyncio.run(restore_to_leave(socket)))
        if java is not None:
            jvm.detach(java, directory)
        else:
            attachment.detach(pid, directory)
    except (AttachRefused, NativeError) as error:
        fail(str(error), Exit.NO_AGENT)
    if as_json:
        typer.echo(json.dumps({"pid": pid}))
    else:
        say(f"detached from process {pid}: its options are restored, and the agent has ended")
        for option in unlike:
            say(f"  but {sentences.not_original(option)}: {after_restore.whose(option)}")


def _left(pid: int, result: PanicResult) -> list[dict[str, Any]]:
    """List what is not its original after a restore; an agent that could not restore all must stay."""
    results: dict[str, dict[str, Any]] = result.restored
    for database, restored in results.items():
        if restored["state"] in ("running", "waiting"):
            fail(
                f"the agent in process {pid} still restores options ({restored['steps_left']} steps left): try again "
                "when it is done; it goes on by itself",
                Exit.REFUSED,
            )
        if restored["errors"] and result.unlike.get(database) != []:
            _failed(pid, str(restored["errors"][0]))
    if result.failed:
        _failed(pid, next(iter(result.failed.values())))
    return [option for options in result.unlike.values() for option in options]


def _failed(pid: int, why: str) -> NoReturn:
    fail(f"the options of process {pid} are not restored, so its agent stays: {why}", Exit.REFUSED)


def _run_directory() -> Path:
    directory = run_dir.run_dir()
    try:
        run_dir.ensure(directory)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise run_dir.BadRunDir(
            f"the run directory {directory} cannot be used ({reason}); set ADOCD_RUN_DIR to one you may write"
        ) from None
    return directory


def _attach_to_jvm(java: RunningJvm, dry_run: bool, as_json: bool) -> None:
    who = f"{java.name} ({java.pid})"
    databases = sorted(str(each) for each in java.locked())
    if not dry_run:
        directory = _run_directory()
        if attachment.socket_of(java.pid, directory) is not None:
            raise AttachRefused(f"{who} has an agent already: see it by `adocctl targets`")
        jvm.attach(java, find_or_build_java_agent(), directory)
    if as_json:
        typer.echo(json.dumps({"databases": databases, "left_alone": {}}))
        return
    say(f"{who} is a JVM; nothing was loaded" if dry_run else f"the Java agent is in {who}")
    for each in databases:
        say(f"  {each}: seen as soon as the program calls it")
    if not databases:
        say("  it has no database open for writing")


def _show_found(found: Found, as_json: bool) -> None:
    if as_json:
        proven = {str(each.directory): hex(each.address) for each in found.databases}
        typer.echo(json.dumps({"databases": proven, "unproven": [str(each) for each in found.unproven]}))
        return
    who = f"{found.program.name} ({found.program.pid}), {found.program.rocksdb.path}"
    say(f"{who}; nothing was loaded")
    for each in found.databases:
        say(f"  would attach to {each.directory}, at {hex(each.address)}")
    for directory in found.unproven:
        say(f"  would leave {directory} alone: {attachment.UNPROVEN}")
    if not found.databases and not found.unproven:
        say("  it has no database open for writing")


def _show_attached(attached: AttachedProgram, as_json: bool) -> None:
    left_alone = {str(directory): why for directory, why in attached.left_alone.items()}
    if as_json:
        typer.echo(json.dumps({"databases": [str(each.directory) for each in attached.databases],
                               "left_alone": left_alone}))  # fmt: skip
        return
    for each in attached.databases:
        say(f"attached to {each.directory}")
    for directory, why in left_alone.items():
        say(f"left {directory} alone: {why}")
