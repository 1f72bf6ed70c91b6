"""Dialogs that ask for confirmation, act, and show the result."""

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from adocd.api.web.page.actions.ask import NotDone
from adocd.api.web.page.model.done import ActionDone
from adocd.api.web.page.model.settings import InputNotUnderstood

#: Does the confirmed action, given the typed reason; returns what was done.
Do = Callable[[str], Awaitable[ActionDone]]


#: How long a notification stays: long enough to read two lines at night. 0 is until it is closed.
_TOAST_MS, _STAYS_MS = 9000, 0


class Dialog:
    """A dialog with a title, a body, a button that acts and one that cancels."""

    def __init__(self, key: str, title: str) -> None:
        self.root = ui.dialog().props(f'aria-labelledby="{key}-title"')
        with self.root, ui.element("div").classes("dialog").mark(key) as self.body:
            self._title = ui.html(f'<h2 id="{key}-title">{title}</h2>', sanitize=False)
        self._key = key
        self._problem: ui.label | None = None
        self._confirm: ui.button | None = None
        self._openings = 0
        self._is_acting = False

    def buttons(self, confirm: str, do: Callable[[], Awaitable[ActionDone]], *, danger: bool = False) -> None:
        """Add the buttons; `do` returns what was done, or raises NotDone or InputNotUnderstood."""
        with self.body:
            self._problem = ui.label("").classes("problem").props("role=alert")
            with ui.element("div").classes("actions"):
                look = "act confirm danger" if danger else "act confirm"
                button = ui.button(confirm, color=None).props("unelevated no-caps").classes(look)
                ui.button("Cancel", color=None, on_click=self.root.close).props("unelevated no-caps").classes("act")

        async def clicked() -> None:
            if not button.enabled:  # the second click of a double click, heard before the first disabled the button
                return
            button.disable()
            self._is_acting, opening = True, self._openings
            done: ActionDone | None = None
            try:
                done = await do()
            except (NotDone, InputNotUnderstood) as error:
                if self._is_still(opening):
                    self.fails(str(error))
                else:
                    say(ActionDone(f"{confirm}: {error}", stays=True))
            finally:
                self._is_acting = False
                # After a success a late second click would do it again; `open` enables the button.
                if done is None or not self._is_still(opening):
                    button.enable()
            if done is not None:
                if self._is_still(opening):
                    self.root.close()
                say(done)

        button.on_click(clicked)
        self._confirm = button

    def _is_still(self, opening: int) -> bool:
        """Whether the dialog is open as it was then: closing it does not stop what was confirmed in it."""
        return bool(self.root.value) and opening == self._openings

    def fails(self, words: str) -> None:
        """Show in the dialog why the action was not done."""
        if self._problem is not None:
            self._problem.set_text(words[:1].upper() + words[1:])

    def open(self) -> None:
        """Show the dialog, without the message of an earlier attempt."""
        self.fails("")
        self._openings += 1
        if self._confirm is not None and not self._is_acting:
            self._confirm.enable()
        self.root.open()


def confirmed(
    key: str,
    title: str,
    words: str,
    confirm: str,
    do: Do,
    *,
    danger: bool = False,
    reason: bool = False,
    here: Callable[[], str] | None = None,
) -> Callable[[], None]:
    """Return a function that opens a confirmation dialog; `reason`: also ask for a reason, which REST keeps.

    `words` is HTML. `here` returns a sentence on what the action is about, as it is when the dialog opens.
    """
    dialog = Dialog(key, title)
    with dialog.body:
        ui.html(f"<p>{words}</p>", sanitize=False)
        about = ui.label("")
        why = ui.input("Reason, for your colleagues").props("outlined dense maxlength=500") if reason else None
    dialog.buttons(confirm, lambda: do("" if why is None else why.value or ""), danger=danger)

    def opened() -> None:
        about.set_text("" if here is None else here())
        if why is not None:
            why.set_value("")
        dialog.open()

    return opened


def act(words: str, look: str, on_click: Callable[[], Any], *, enabled: bool) -> ui.button:
    """Make one of the page's buttons; the tooltip of a disabled one says why."""
    button = ui.button(words, color=None, on_click=on_click).props("unelevated no-caps").classes(f"act {look}")
    if not enabled:
        button.disable()
        button.props('title="Log in with a token that may operate"').classes("locked")
    return button


def say(done: ActionDone) -> None:
    """Show a notification about what was done, in a corner: the next dialog may open at once, in the middle."""
    timeout_ms = _STAYS_MS if done.stays else _TOAST_MS
    ui.notify(
        done.words, position="bottom-left", timeout=timeout_ms, close_button="Close", multi_line=True, classes="said"
    )
