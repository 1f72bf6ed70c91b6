"""`record`: write a live target's snapshots into a file, for `replay`."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from adocd.api.client import NoDaemon, NotInTime, RestClient, RestError
from adocd.cli import parameters
from adocd.cli.exits import Exit, fail
from adocd.cli.target import Json, TargetName, daemon, target_id
from adocd.cli.terminal import say

if TYPE_CHECKING:
    from adocd.recording.format import Seen
    from adocd.recording.writer import Recorder

#: Polls in the least time between two of the daemon's looks: the two clocks drift, and every look should be recorded.
_POLLS_A_LOOK = 2.5
_LEAST_S = 0.1


def record(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file; compressed if its name ends in .gz.")],
    target: TargetName = None,
    seconds: Annotated[
        float | None,
        typer.Option(parser=parameters.seconds, metavar="TIME", help="How long: 30s, 5min; default: until Ctrl-C."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Record a target's snapshots, options and decisions, for `adocctl replay` to run any law on."""
    if seconds is not None and seconds < _LEAST_S:
        fail(f"--seconds must be at least {_LEAST_S:g} s", Exit.USAGE)
    # Imported here: they would slow the start of every other command.
    from adocd import __version__  # noqa: PLC0415
    from adocd.recording.format import NotReplayable, RecordingHeader  # noqa: PLC0415
    from adocd.recording.lines import LineFile  # noqa: PLC0415
    from adocd.recording.writer import Recorder  # noqa: PLC0415

    client = daemon()
    id_ = target_id(client, target)
    first = _seen(client, id_, 0)
    try:
        lines = LineFile(file)
        recorder = Recorder(lines, RecordingHeader(id_, first.path, __version__, time.time(), first.tick_s))
        until = f"for {seconds:g} s" if seconds is not None else "until Ctrl-C"
        say(f"recording {first.path} into {file} {until}", err=True)
        with _stopped_by_signals() as stopped:
            why, code = _follow(client, id_, recorder, stopped, seconds)
            recorder.end(why)
    except NotReplayable as error:
        fail(str(error), Exit.FAILED)
    missed = f", {recorder.missed} looks of the daemon's were missed" if recorder.missed else ""
    if not recorder.snapshots:
        fail(f"{file} has no snapshot, for the database was not seen open: {why}", code or Exit.FAILED)
    if code is not None:
        fail(f"{why}; {file} has {recorder.snapshots} snapshots{missed}", code)
    done = {"file": str(file), "target": id_, "snapshots": recorder.snapshots, "missed": recorder.missed, "ended": why}
    if as_json:
        typer.echo(json.dumps(done))
    else:
        say(f"{file} has {recorder.snapshots} snapshots{missed}", err=True)


def _follow(
    client: RestClient, id_: str, recorder: "Recorder", stopped: threading.Event, seconds: float | None
) -> tuple[str, Exit | None]:
    """Poll until the recording ends; return why it ended, and the exit code if that is a failure."""
    ends_s = None if seconds is None else time.monotonic() + seconds
    every_s, told = _LEAST_S, ""
    while True:
        began_s = time.monotonic()
        try:
            seen = _seen(client, id_, recorder.last_look)
        except NotInTime as error:
            told = _said_once(error, told)
        except NoDaemon:
            return "no daemon answers any more", Exit.NO_DAEMON
        except RestError as error:
            if error.status < 500:
                return f"the daemon does not show it any more: {error}", Exit.NO_TARGET
            told = _said_once(error, told)
        else:
            recorder.seen(seen, time.time())
            every_s, told = _look_s(seen) / _POLLS_A_LOOK, ""
        now_s = time.monotonic()
        if ends_s is not None and now_s >= ends_s:
            return "the time was over", None
        next_s = began_s + every_s
        if stopped.wait(max(0.0, (next_s if ends_s is None else min(next_s, ends_s)) - now_s)):
            return "it was stopped", None


def _said_once(error: NotInTime | RestError, told: str) -> str:
    """Say that a daemon that is there has no answer now; its next answer tells how many of its looks were missed."""
    if str(error) != told:
        say(f"adocctl: {error}; asking again", err=True)
    return str(error)


def _look_s(seen: "Seen") -> float:
    """Return the least time between two of the daemon's looks: less than a tick under a law that events wake."""
    from adocd.controllers import registry  # noqa: PLC0415
    from adocd.controllers.composite import parts_of  # noqa: PLC0415
    from adocd.daemon.control.pace import apart_s  # noqa: PLC0415

    try:
        laws = parts_of(registry.create(seen.rule.policy))
    except registry.PolicyError:  # a law of a package that this adocctl does not have
        return seen.tick_s
    return apart_s(seen.tick_s) if any(law.wakes for law in laws) else seen.tick_s


def _seen(client: RestClient, id_: str, after: int) -> "Seen":
    from pydantic import ValidationError  # noqa: PLC0415

    from adocd.recording.format import SEEN  # noqa: PLC0415

    content = client.get(f"/v1/targets/{id_}/snapshot", after=after)
    try:
        return SEEN.validate_python(content)
    except ValidationError:
        fail("the daemon's snapshot is none that this adocctl knows: use the one that came with it", Exit.FAILED)


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Let Ctrl-C and SIGTERM end the recording after a whole line; a second Ctrl-C ends it at once."""
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
