"""Elements of the page without a browser or a daemon: what is laid out, and what a visitor would read there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from nicegui import core, events, ui
from nicegui.client import Client
from nicegui.page import page


def laid_out(body: Callable[[Client], Awaitable[None]]) -> None:
    """Run the body within a page that no browser is connected to."""

    async def run() -> None:
        before, core.loop = core.loop, asyncio.get_running_loop()
        client = Client(page("/test"))
        try:
            with client:
                await body(client)
        finally:
            client.delete()
            await asyncio.sleep(0)
            core.loop = before

    asyncio.run(run())


def html(client: Client) -> str:
    """All HTML that is laid out."""
    return "".join(each.content for each in client.elements.values() if isinstance(each, ui.html))


def button(client: Client, label: str) -> ui.button:
    """The one button with this label."""
    (found,) = [
        each for each in client.elements.values()
        if isinstance(each, ui.button) and label in (each.text, each.props.get("aria-label"))
    ]  # fmt: skip
    return found


def said(client: Client) -> list[dict[str, Any]]:
    """All notifications that were shown, with Quasar's options."""
    return [options for _, kind, options in client.outbox.messages if kind == "notify"]


async def click(pressed: ui.button, times: int = 1) -> None:
    """Click a button as often before it can act, and wait until it has acted."""
    arguments = events.ClickEventArguments(sender=pressed, client=pressed.client)
    for _ in range(times):
        for listener in list(pressed._event_listeners.values()):
            if listener.type == "click" and not pressed.is_ignoring_events:
                events.handle_event(listener.handler, arguments)
    for _ in range(10):
        await asyncio.sleep(0)


class Asked:
    """Actions that are all answered the same; `paths` are what was asked."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer
        self.paths: list[str] = []

    async def do(self, method: str, path: str, *_: object) -> Any:
        """Answer."""
        self.paths.append(f"{method} {path}")
        return self._answer


def visit(actions: Asked, targets: dict[str, dict[str, Any]] | None = None) -> Any:
    """Make the visit of an operator; `targets` is the list."""
    return SimpleNamespace(actions=actions, may_operate=True, feed=SimpleNamespace(find=(targets or {}).get))
