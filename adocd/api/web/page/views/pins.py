"""The pins of a target, each with its effect and a button that removes it."""

import functools
from typing import Any
from urllib.parse import quote

from nicegui import ui

from adocd.api.web.page.actions.ask import NotDone
from adocd.api.web.page.actions.dialogs import Dialog, act
from adocd.api.web.page.model.done import ActionDone, done
from adocd.api.web.page.model.units import text
from adocd.api.web.page.room import Room
from adocd.api.web.page.views.shell import Text, Visit
from adocd.model.in_words import option_value

#: What tells a pin from others, and one that was renewed from what it was.
_PIN, _RENEWED = ("target", "option", "column_family"), "unix_s"


class Pins:
    """The list of pins; it is rebuilt only when a pin is added or removed: a button must not vanish under a finger."""

    def __init__(self, room: Room, visit: Visit) -> None:
        self._room = room
        self._visit = visit
        self._rows: dict[tuple[Any, ...], Text] | None = None
        self._box = ui.element("div").classes("panel live")
        self._chosen: dict[str, Any] | None = None
        self._dialog = Dialog("unpin", "Remove this pin?")
        with self._dialog.body:
            self._words = ui.label("")
        self._dialog.buttons("Remove it", self._remove)

    def refresh(self) -> None:
        """Show the current pins."""
        pins = {_key(pin): pin for pin in self._room.overrides}
        if self._rows is None or list(pins) != list(self._rows):
            self._box.clear()
            with self._box:
                if not pins:
                    ui.html('<p class="muted">Nothing is pinned.</p>', sanitize=False)
                self._rows = {key: self._row(key, pin) for key, pin in pins.items()}
        for key, pin in pins.items():
            self._rows[key].show(_words(pin))

    def _row(self, key: tuple[Any, ...], pin: dict[str, Any]) -> Text:
        with ui.element("div").classes("pin"):
            words = Text().style("flex: 1 1 240px")
            button = act("Remove", "", functools.partial(self._ask, key), enabled=self._visit.may_operate)
            # not by props(): it would parse a foreign name
            button.props["aria-label"] = f"Remove the pin of {_name(pin)}{_everywhere(pin)}"
        return words

    def _ask(self, key: tuple[Any, ...]) -> None:
        self._chosen = self._now(key)
        if self._chosen is not None:
            self._words.set_text(_removal(self._chosen))
            self._dialog.open()

    def _now(self, key: tuple[Any, ...]) -> dict[str, Any] | None:
        return next((pin for pin in self._room.overrides if _key(pin) == key), None)

    async def _remove(self) -> ActionDone:
        if self._chosen is None:
            raise NotDone("choose a pin first")
        pin, now = self._chosen, self._now(_key(self._chosen))
        if now is None:
            raise NotDone("somebody has removed it already")
        if now[_RENEWED] != pin[_RENEWED]:
            self._chosen = now
            self._words.set_text(_removal(now))
            raise NotDone("somebody has just pinned it anew, to what is shown now")
        place = self._room.path if pin["target"] else "/v1"
        query = "" if pin["column_family"] is None else f"?column_family={quote(pin['column_family'], safe='')}"
        answer = await self._visit.actions.do("DELETE", f"{place}/overrides/{quote(pin['option'], safe='')}{query}")
        self._room.ask_again()
        return done(f"The pin of {_name(pin)} is removed{_everywhere(pin)}.", answer["warning"])


def _key(pin: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(pin[name] for name in _PIN)


def _words(pin: dict[str, Any]) -> str:
    ends = pin["remaining_s"]
    until = (
        "until it is removed" if ends is None else f'until <local-time unix="{pin["ends_unix_s"]:.0f}"></local-time>'
    )
    effect = (
        '<span class="tag good">in force</span>' if pin["ineffective"] is None
        else f'<span class="tag warn">{text(pin["ineffective"])}</span>'
    )  # fmt: skip
    everywhere = "" if pin["target"] else ' <span class="muted">on all databases</span>'
    why = f", {text(pin['reason'])}" if pin["reason"] else ""
    value = option_value(pin["option"], pin["value"])
    return (
        f"<b>{text(_name(pin))} = {text(value)}</b>{everywhere} {effect}<br>"
        f'<span class="muted">{until}, by {text(pin["who"])}{why}</span>'
    )


def _removal(pin: dict[str, Any]) -> str:
    """Say what the removal of a pin does, and that it is not about this database alone if it is not."""
    what = f"{_name(pin)} = {option_value(pin['option'], pin['value'])}"
    if pin["target"]:
        return f"{what}: the law takes it over again, or its original returns."
    return f"{what}, on ALL databases: on each, the law takes it over again, or its original returns."


def _everywhere(pin: dict[str, Any]) -> str:
    return "" if pin["target"] else " on ALL databases"


def _name(pin: dict[str, Any]) -> str:
    return f"{pin['option']} ({pin['column_family']})" if pin["column_family"] else str(pin["option"])
