"""The command `adocctl top`."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any

import typer
from rich.live import Live

from adocd.cli.console import Terminal, columns, is_screen
from adocd.cli.exits import Exit, fail
from adocd.cli.parameters import seconds
from adocd.cli.target import Json, OpenTargetName, daemon, target_id
from adocd.cli.top.feed import Frame, TopFeed
from adocd.cli.top.keys import keys, quits
from adocd.cli.top.screen import Screen, fits
from adocd.targets import run_dir

_LEAST_S, _MOST_S = 0.2, 3600.0


def top(
    target: OpenTargetName = None,
    interval: Annotated[
        float, typer.Option(parser=seconds, metavar="TIME", help="Time between two refreshes: 0.5, 2s, 1min.")
    ] = 1.0,
    once: Annotated[
        bool, typer.Option("--once", help="Print one frame and exit; the default without a terminal that can redraw.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Watch all databases, or one, live: stalls, writes, adocd's changes and last decision. q or Ctrl-C quits.

    The worst come first. If the daemon goes away, top says so and continues when it is back. With --json it prints one
    line per refresh until Ctrl-C, or a single line with --once.
    """
    if not _LEAST_S <= interval <= _MOST_S:
        fail(f"--interval must be {_LEAST_S:g} s to {_MOST_S:g} s, not {interval:g} s", Exit.USAGE)
    client = daemon()
    if target is not None or once:
        _check(target)
    feed = TopFeed(client, target)
    try:
        if as_json:
            _lines(feed, interval, once=once)
        elif once or not is_screen() or Terminal().is_dumb_terminal:
            frame = _first(feed)
            Terminal(width=columns()).print(Screen(frame, _place(), live=False))
        else:
            _live(feed, interval)
    except KeyboardInterrupt:
        raise typer.Exit from None


def _check(target: str | None) -> None:
    """Fail for a name that matches no target, or more than one, before taking over the screen."""
    client = daemon()
    if target is None:
        client.get("/v1/targets")
    else:
        target_id(client, target)


def _place() -> str:
    return str(run_dir.run_dir())


def _first(feed: TopFeed) -> Frame:
    frame = feed.ask()
    if feed.error is not None:
        raise feed.error
    return frame


def _lines(feed: TopFeed, interval_s: float, *, once: bool) -> None:
    if once:
        typer.echo(json.dumps(content(_first(feed))))
        return
    while True:
        began_s = time.monotonic()
        typer.echo(json.dumps(content(feed.ask())))
        time.sleep(max(0.0, began_s + interval_s - time.monotonic()))


def _live(feed: TopFeed, interval_s: float) -> None:
    console = Terminal(soft_wrap=False)
    with (
        _ended_by_sigterm(),
        keys() as pressed,
        Live(console=console, screen=True, auto_refresh=False, redirect_stderr=False) as live,
    ):
        while True:
            began_s = time.monotonic()
            feed.shown = fits(console.size.height)
            live.update(Screen(feed.ask(), _place(), live=True), refresh=True)
            while True:  # at least once: a daemon may take longer to answer than `interval_s`
                left_s = began_s + interval_s - time.monotonic()
                if quits(pressed.wait(left_s)):
                    return
                if left_s <= 0:
                    break


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, as from timeout(1), end `top` as q does: else the terminal would stay as `top` has set it."""

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def content(frame: Frame) -> dict[str, Any]:
    """Return a frame as JSON: the targets of the daemon's list, each with the details that `top` adds."""
    return {
        "unix_s": frame.unix_s,
        "problem": frame.problem,
        "targets": [target | _more(frame.details.get(target["id"])) for target in frame.targets],
    }


def _more(detail: dict[str, Any] | None) -> dict[str, Any]:
    sample = None if detail is None else detail["sample"]
    figures = (
        "waited_fraction",
        "stalled_fraction",
        "stopped_fraction",
        "delayed_fraction",
        "background_jobs",
        "overflow",
    )
    more: dict[str, Any] = {name: None if sample is None else sample[name] for name in figures}
    more["write_latency"] = None if sample is None else sample.get("write_latency")
    more["options"] = None if detail is None else detail["options"]
    more["originals"] = None if detail is None else detail["originals"]
    more["last_decision"] = None if detail is None else detail["last_decision"]
    return more
