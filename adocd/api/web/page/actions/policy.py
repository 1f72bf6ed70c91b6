"""Sets a target's policy: law, parameters, dry run and shaping; shows first what it would change."""

from collections.abc import Callable
from typing import Any

from nicegui import ui

from adocd.api.web.page.actions.ask import Actions, NotDone
from adocd.api.web.page.actions.dialogs import Dialog
from adocd.api.web.page.model import settings
from adocd.api.web.page.model.done import ActionDone, done
from adocd.api.web.page.model.settings import InputNotUnderstood, ParameterField
from adocd.api.web.page.model.units import text
from adocd.api.web.page.room import Room

_SHAPING = {
    "step_factor": "Largest factor by which a step changes a knob (0: any)",
    "pacing_s": "Least time between two decisions, in seconds (0: any)",
    "refractory_s": "Least time before a knob reverses its direction, in seconds (0: any)",
    "judge_s": "Take back changes that made things worse, judged over so many seconds (0: keep them)",
}


class PolicyDialog:
    """The dialog for one target: it opens with the policy in force, and refuses if that has changed since."""

    def __init__(self, room: Room, actions: Actions) -> None:
        self._room = room
        self._actions = actions
        self._laws: dict[str, dict[str, Any]] = {}
        self._etag: str | None = None
        self._given: dict[str, Any] = {}
        #: Why it is paused, as far as the dialog says so.
        self._paused: str | None = None
        self._typed: dict[str, ui.input | ui.select] = {}
        #: Grows with every change of a field.
        self._edits = 0
        self._dialog = Dialog("policy", "Set the policy")
        with self._dialog.body:
            self._law = ui.select([], label="Law", on_change=self._tell_about).props("outlined dense")
            self._about = ui.html("", sanitize=False)
            self._fields = ui.element("div").classes("fields").props('role=group aria-label="Parameters"')
            self._dry_run = ui.checkbox("Dry run: decide, but change nothing", on_change=self._edited)
            self._shaping = {
                name: ui.number(label, min=0, on_change=self._edited).props("outlined dense")
                for name, label in _SHAPING.items()
            }
            ui.button("Show what would change", color=None, on_click=self._preview).props("unelevated no-caps").classes(
                "act"
            )
            self._difference = ui.label("").classes("difference").props("role=status")
            self._difference.set_visibility(False)
            self._ends = ui.label("").classes("note")
            self._ends.set_visibility(False)
        self._dialog.buttons("Set it", self._set)

    async def open(self) -> None:
        """Fill in the policy in force, and show the dialog with all laws that there are now."""
        try:
            _, listed = await self._actions.read("/v1/controllers")
            headers, policy = await self._actions.read(f"{self._room.path}/policy")
        except NotDone as error:
            self._dialog.open()
            self._dialog.fails(str(error))
            return
        self._laws = {law["name"]: law for law in listed["controllers"]}
        self._etag = headers.get("etag")
        # A policy may combine several laws; the one in force can always be chosen again.
        names = sorted({*self._laws, policy["controller"]})
        self._law.set_options(names, value=policy["controller"])
        self._given = policy["parameters"]
        self._dry_run.set_value(policy["dry_run"])
        for name, field in self._shaping.items():
            field.set_value(policy["shaping"][name])
        self._tell_about()
        self._tell_pause()
        self._dialog.open()

    def _tell_pause(self) -> None:
        """Say what setting would end besides."""
        detail = self._room.detail
        self._paused = None if detail is None else detail["paused"]
        self._ends.set_text(f"Setting a policy also ends the pause: {self._paused}.")
        self._ends.set_visibility(bool(self._paused))

    def _edited(self) -> None:
        """Hide what would change: it was said of other values."""
        self._edits += 1
        self._difference.set_visibility(False)

    def _tell_about(self) -> None:
        self._edited()
        controller = self._law.value or ""
        law = self._laws.get(controller)
        self._about.set_content(
            "" if law is None else f'<p class="muted">{text(law["summary"])}. Needs {text(law["needs"])}.</p>'
        )
        self._fields.clear()
        self._typed = {}
        with self._fields:
            for field in settings.fields_of(controller, self._laws, self._given):
                self._typed[field.name] = _input(field, self._edited)

    def _asked(self) -> dict[str, Any]:
        settings.check_law(self._law.value or "", self._laws)
        return {
            "controller": self._law.value,
            "parameters": settings.parameters({name: str(field.value or "") for name, field in self._typed.items()}),
            "dry_run": bool(self._dry_run.value),
            "shaping": {name: float(field.value or 0) for name, field in self._shaping.items()},
        }

    async def _preview(self) -> None:
        edits = self._edits
        try:
            difference = await self._actions.do("POST", f"{self._room.path}/policy/difference", self._asked())
        except (NotDone, InputNotUnderstood) as error:
            self._dialog.fails(str(error))
            return
        if self._edits != edits:
            return
        self._dialog.fails(difference["refused"] or "")
        self._difference.set_text("\n".join(settings.difference_in_words(difference)))
        self._difference.set_visibility(True)

    async def _set(self) -> ActionDone:
        asked, seen = self._asked(), self._paused
        self._tell_pause()
        if self._paused and self._paused != seen:
            raise NotDone("it has just been paused, and setting a policy would end that")
        policy = await self._actions.do("PUT", f"{self._room.path}/policy", asked, self._etag)
        self._room.ask_again()
        ended = f" This has ended the pause: {self._paused}." if self._paused else ""
        return done(f"The policy is now {policy['controller']}{' (dry run)' if policy['dry_run'] else ''}.{ended}")


def _input(field: ParameterField, edited: Callable[[], None]) -> ui.input | ui.select:
    """Make the field of a parameter; an empty one keeps the default that its placeholder shows."""
    if field.is_switch:
        choices = {"": f"default ({field.default})", "true": "true", "false": "false"}
        chosen = ui.select(choices, value=field.value, label=field.name, on_change=edited)
        return chosen.props("outlined dense options-dense")
    shown = ui.input(field.name, value=field.value, placeholder=field.default, on_change=edited)
    shown.props["hint"] = field.hint  # not by props(): it would parse a foreign law's words
    return shown.props("outlined dense stack-label")
