"""`events` shows what has happened, or follows it; `audit` shows who did what."""

import contextlib
import json
import shlex
import time
from typing import Annotated, Any

import typer

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.cli import completing, show, show_events
from adocd.cli.exits import Exit, fail
from adocd.cli.target import Json, OpenTargetName, daemon, target_id
from adocd.cli.terminal import say
from adocd.model.nearest import unknown
from adocd.targets import run_dir

KINDS = ("decision", "stall", "target", "operation", "daemon", "sample")
_AGAIN_S = 1.0
#: As many as tail and journalctl show by default, and some more: an event is one of several about one decision.
_LINES = 20


def events(
    target: OpenTargetName = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            help=f"Only this kind; repeatable: {', '.join(KINDS)}. Default: all but sample.",
            autocompletion=completing.of(*KINDS),
        ),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option("--after", min=0, metavar="ID", help="Only those after this event; 0: all that are kept."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=0, max=5000, help="How many of the latest to show; default 20."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Then go on with what happens, until Ctrl-C.")] = False,
    as_json: Json = False,
) -> None:
    """Show the last events, one line each: stalls, decisions and their outcomes, operators' actions.

    With -f it goes on until Ctrl-C, as tail does, and survives a restart of the daemon, which it reports on stderr.
    """
    for each in kind or ():
        if each not in KINDS:
            fail(unknown("kind of event", each, KINDS), Exit.USAGE)
    query = {"kinds": ",".join(kind or KINDS[:-1])}
    if target is not None:
        query["target"] = target_id(daemon(), target, also_kept=True)
    if limit is not None or after is None:
        query["last"] = str(_LINES if limit is None else limit)
    if not follow:
        _show_kept(query, after, as_json=as_json)
        return
    try:
        _follow(query, after, as_json=as_json)
    except KeyboardInterrupt:
        raise typer.Exit from None


def _show_kept(query: dict[str, str], after: int | None, *, as_json: bool) -> None:
    # Imported here: it would slow the start of every other command.
    from adocd.api.event_stream import kept  # noqa: PLC0415

    shown = 0
    for event in kept(run_dir.daemon_socket(run_dir.run_dir()), query | {"follow": "false"}, after):
        if after == 0 and event.kind == "lost":  # expected: --after 0 asks for whatever is still kept
            continue
        _print(event.kind, event.data, as_json=as_json)
        shown += 1
    if not shown:
        of = "samples are not kept" if query["kinds"] == "sample" else "no such event is kept"
        say(f"adocctl: {of}; -f shows what happens from now on", err=True)


def _follow(query: dict[str, str], after: int | None, *, as_json: bool) -> None:
    # Imported here: it would slow the start of every other command.
    from adocd.api.event_stream import follow  # noqa: PLC0415

    client, asked = daemon(), after
    pid = client.get("/healthz")["pid"]
    has_begun, refused = False, ""
    while True:
        try:
            for event in follow(run_dir.daemon_socket(run_dir.run_dir()), query, after):
                after = after if event.id is None else event.id
                if asked == 0 and event.kind == "lost":  # expected: --after 0 asks for whatever is still kept
                    asked = None
                    continue
                _print(event.kind, event.data, as_json=as_json)
        except NoDaemon as error:
            say(f"adocctl: {error}; asking again every second", err=True)
            refused = ""
        except RestError as error:
            # A daemon that has just started may not have found the target yet, or have no place for a stream.
            if not has_begun or (error.status != 404 and error.status < 500):
                raise
            if str(error) != refused:
                say(f"adocctl: {error}; asking again every second", err=True)
            refused = str(error)
        has_begun = True
        query.pop("last", None)  # from here on, nothing that comes after the last one seen may be left out
        now = _answers_again(client)
        if after is None and now != pid:  # no event seen yet to continue from: all events of the new daemon are new
            after = 0
        pid = now
        if not refused:
            say("adocctl: the daemon answers again", err=True)


def _answers_again(client: RestClient) -> int:
    while True:
        time.sleep(_AGAIN_S)
        with contextlib.suppress(NoDaemon, RestError):
            return int(client.get("/healthz")["pid"])


def _print(kind: str, data: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(data | {"kind": kind}))
    else:
        show.console.print(show_events.line(kind, data))


def audit(
    target: OpenTargetName = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="How many of the latest to show.")
    ] = _LINES,
    before: Annotated[
        int | None, typer.Option("--before", min=1, metavar="ID", help="Only those before this one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show who did what: policies, pins, pauses, restores, tokens and reloads, oldest first."""
    client = daemon()
    query: dict[str, str | int] = {"limit": limit}
    if target is not None:
        query["target"] = target_id(client, target, also_kept=True)
    if before is not None:
        query["before"] = before
    answer = client.get("/v1/operations", **query)
    asked = [
        "adocctl",
        "audit",
        *([] if target is None else [target]),
        *([] if limit == _LINES else ["-n", str(limit)]),
    ]
    show.json_or(as_json, answer, lambda content: show_events.operations(content, shlex.join(asked)))
