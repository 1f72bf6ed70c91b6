"""Pins an option with an expiry: an override, which beats the law until it ends."""

from urllib.parse import quote

from nicegui import ui

from adocd.api.web.page.actions.ask import Actions
from adocd.api.web.page.actions.dialogs import Dialog
from adocd.api.web.page.model import settings
from adocd.api.web.page.model.done import ActionDone, done
from adocd.api.web.page.model.settings import InputNotUnderstood
from adocd.api.web.page.model.units import text
from adocd.api.web.page.room import Room
from adocd.model.in_words import option_value

_ALL = "all column families"


class PinDialog:
    """The dialog that pins an option of one target."""

    def __init__(self, room: Room, actions: Actions) -> None:
        self._room = room
        self._actions = actions
        self._values: dict[str, dict[str | None, str]] = {}
        self._dialog = Dialog("pin", "Pin an option")
        with self._dialog.body:
            ui.html(
                '<p class="muted">A pin beats the law and its shaping, not the safety guards, and ends by itself.</p>',
                sanitize=False,
            )
            self._option = ui.select([], label="Option", on_change=self._tell_about).props("outlined dense")
            self._about = ui.html("", sanitize=False)
            self._family = ui.select([_ALL], value=_ALL, label="Column family", on_change=self._tell_about)
            self._family.props("outlined dense")
            self._value = ui.input("Value: a number, or a size such as 96 MiB or 100 MB").props("outlined dense")
            self._expiry = ui.select(list(settings.EXPIRIES), value="1 hour", label="For").props("outlined dense")
            self._reason = ui.input("Reason, for your colleagues").props("outlined dense maxlength=500")
        self._dialog.buttons("Pin it", self._pin)

    def open(self) -> None:
        """List the options that can be pinned now, and show the dialog."""
        detail = self._room.detail
        self._values = {} if detail is None else settings.pinnable(detail)
        self._option.set_options(list(self._values))
        families = [] if detail is None else detail["column_families"]
        self._family.set_options([_ALL, *families], value=_ALL)
        self._value.set_value("")
        self._reason.set_value("")
        self._tell_about()
        self._dialog.open()
        if not self._values:
            self._dialog.fails("nothing can be pinned now: the database is closed or only observed")

    def _tell_about(self) -> None:
        option = self._option.value
        self._family.set_visibility(option is not None and settings.of_a_column_family(option))
        if option is None:
            self._about.set_content("")
            return
        now = settings.value_in_words(option, self._values.get(option, {}), self._chosen_family(option))
        self._about.set_content(f'<p class="muted">now {text(now)}; {text(settings.bounds_in_words(option))}</p>')

    def _chosen_family(self, option: str) -> str | None:
        """Return the one column family that is meant; None for all of them, and for an option of the database."""
        is_one = settings.of_a_column_family(option) and self._family.value != _ALL
        return str(self._family.value) if is_one else None

    async def _pin(self) -> ActionDone:
        option, value = self._option.value, (self._value.value or "").strip()
        if option is None or not value:
            raise InputNotUnderstood("choose an option and enter its value")
        body = {
            "value": value,
            "column_family": self._chosen_family(option),
            "for_s": settings.EXPIRIES[self._expiry.value],
            "reason": self._reason.value or "",
        }
        pinned = await self._actions.do("PUT", f"{self._room.path}/overrides/{quote(option, safe='')}", body)
        self._room.ask_again()
        return done(f"{option} is pinned at {option_value(option, pinned['value'])}.")
