"""What all pages share: the top bar, the log-in, and the updates."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastapi import Request
from nicegui import ui
from nicegui.client import Client

from adocd.api.web.gate import Grant
from adocd.api.web.page import session
from adocd.api.web.page.actions.ask import Actions
from adocd.api.web.page.feed import Listener, PageFeed
from adocd.api.web.page.room import Room
from adocd.api.web.page.session import Sessions
from adocd.api.web.upstream import Upstream

if TYPE_CHECKING:
    from adocd.api.web.access import TokenHolder

Refresh = Callable[[], Awaitable[None]]
#: How long a browser has to reload the page when its log-in has ended.
_MOMENT_S = 2.0
_THEMES = {"system": "System", "light": "Light", "dark": "Dark"}


@dataclass
class Visit:
    """One open page: its visitor, and the feed that updates it."""

    feed: PageFeed
    actions: Actions
    sessions: Sessions
    cookie: str | None
    holder: "TokenHolder | None"
    grant: Grant
    client: Client
    query: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    #: The target that the page shows, if it shows one: it may be out of reach alone.
    room: Room | None = None

    @classmethod
    async def of(cls, request: Request, feed: PageFeed, upstream: Upstream, sessions: Sessions) -> "Visit":
        """Begin a visit with the request for the page."""
        cookie = request.cookies.get(session.COOKIE)
        grant: Grant = request.state.grant
        actions = Actions(upstream, lambda: sessions.holder(cookie))
        return cls(feed, actions, sessions, cookie, grant.holder, grant, ui.context.client, dict(request.query_params))

    @property
    def may_operate(self) -> bool:
        """Whether this visitor may change things."""
        return self.holder is not None and self.holder.may_operate

    def name(self, title: str) -> None:
        """Set the title of the browser's tab, so that one in the background shows the state, and that it is old."""
        if title != self.title:
            self.title = title
            self.client.run_javascript(f"adocd.name({json.dumps(title)})")

    def keep_fresh(self, refresh: Refresh) -> None:
        """Call `refresh` after every tick while the browser is connected."""

        async def news() -> None:
            if not self.client.has_socket_connection:
                return
            if not await self.grant.holds():
                self._end()
                return
            with self.client:
                await refresh()

        listener = Listener(news, self._tell_time)
        self.client.on_connect(lambda: self.feed.listen(self.client.id, listener))
        self.client.on_delete(lambda: self.feed.forget(self.client.id))

    def _end(self) -> None:
        """End the page, because its token was revoked or has expired; its browser has 2 s to reload it."""
        self.client.run_javascript("location.reload()")

        def cut() -> None:
            if self.client.has_socket_connection and not self.client.is_deleted:
                self.client.delete()  # its buttons must not work any more, whatever the browser does

        self.feed.forget(self.client.id)
        asyncio.get_running_loop().call_later(_MOMENT_S, cut)

    def _tell_time(self) -> None:
        if not self.client.has_socket_connection:
            return
        silent = self.feed if self.room is None or self.feed.lost else self.room
        trouble = (silent.trouble or "no answer") if silent.lost else None
        silent_s = silent.silence_s if silent.lost else 0.0
        self.client.run_javascript(f"adocd.tick({json.dumps(trouble)}, {silent_s:.1f}, {time.time():.3f})")


class Text(ui.element, component="patched.js"):
    """Read-only HTML, sent only when it has changed, and updated in place (patched.js)."""

    def __init__(self, classes: str = "", props: str = "") -> None:
        super().__init__()
        self._props["content"] = ""
        self.classes(f"live {classes}").props(props)

    def show(self, html: str) -> None:
        """Show this HTML; the caller must have escaped its text."""
        if self._props["content"] != html:
            self._props["content"] = html
            self.update()


def frame(visit: Visit, crumb: str) -> Any:
    """Lay out the top bar, and return the element for the page's content. `crumb` is HTML."""
    ui.html('<a class="skip" href="#main">Skip to the content</a>', sanitize=False)
    with ui.element("nav").classes("top").props('aria-label="adocd"'):
        ui.html(f'<a class="brand" href="{_root()}">adocd</a>', sanitize=False)
        ui.html(crumb, sanitize=False)
        ui.element("span").classes("spring")
        buttons = "".join(
            f'<button type="button" data-theme-choice="{choice}" aria-pressed="false" '
            f"onclick=\"adocd.theme('{choice}')\">{name}</button>"
            for choice, name in _THEMES.items()
        )
        ui.html(f'<span class="themes" role="group" aria-label="Colours">{buttons}</span>', sanitize=False)
        _who(visit)
    if not visit.may_operate:
        _hint(visit)
    visit.client.on_connect(lambda: visit.client.run_javascript("adocd.theme(adocd.chosenTheme())"))
    return ui.element("div").classes("page").props("id=main tabindex=-1")  # Quasar's own page is the main landmark


def _who(visit: Visit) -> None:
    if visit.holder is not None:
        can = "may operate" if visit.holder.may_operate else "read-only"
        ui.label(f"{visit.holder.name} ({can})").classes("who")
        ui.button("Log out", color=None, on_click=lambda: ui.run_javascript("adocd.logOut()")).props(
            "unelevated no-caps"
        ).classes("act")
        return
    with ui.dialog().props("aria-labelledby=log-in-title") as dialog, ui.element("div").classes("dialog"):
        ui.html('<h2 id="log-in-title">Log in with a token</h2>', sanitize=False)
        ui.html(
            '<p class="muted">Make a token on the machine where the daemon runs: '
            "<code>adocctl token create NAME --scope operate</code></p>", sanitize=False,
        )  # fmt: skip
        form = ui.element("form")
        with form:
            secret = ui.input("Token", password=True).props('outlined autofocus autocomplete="off"')
            problem = ui.label("").classes("problem").props("role=alert")
            with ui.element("div").classes("actions"):
                ui.button("Log in", color=None).props("unelevated no-caps type=submit").classes("act confirm")
                ui.button("Cancel", color=None, on_click=dialog.close).props("unelevated no-caps").classes("act")

        async def log_in() -> None:
            words = await ui.run_javascript(f"return await adocd.logIn({json.dumps(secret.value)})", timeout=10)
            problem.set_text(words or "")
            if words:  # the button took the focus; clear the field, or the next secret would follow the wrong one
                secret.set_value("")
                secret.run_method("focus")

        def opened() -> None:
            secret.set_value("")
            problem.set_text("")
            dialog.open()

        form.on("submit.prevent", log_in)
    ui.button("Log in", color=None, on_click=opened).props("unelevated no-caps").classes("act")


def _hint(visit: Visit) -> None:
    what = (
        "This token is for reading only"
        if visit.holder is not None
        else "You can read everything here, and change nothing"
    )
    ui.html(
        f'<div class="hint">{what}. <span class="how">To change anything, log in with a token, made on the daemon\'s '
        "machine by <code>adocctl token create NAME --scope operate</code></span></div>", sanitize=False,
    )  # fmt: skip


def _root() -> str:
    return "/page/"
