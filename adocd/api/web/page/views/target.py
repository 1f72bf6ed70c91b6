"""The page of one target: its state, the verdict, decisions and reasons, charts, and settings."""

import time
from typing import Any

from nicegui import ui

from adocd.api.remedy import undo
from adocd.api.repeats import in_rows
from adocd.api.web.page.actions.ask import NotDone
from adocd.api.web.page.actions.dialogs import act, confirmed
from adocd.api.web.page.actions.pin import PinDialog
from adocd.api.web.page.actions.policy import PolicyDialog
from adocd.api.web.page.charts import span
from adocd.api.web.page.charts.panel import Panel
from adocd.api.web.page.model import decisions, history, settings
from adocd.api.web.page.model.done import ActionDone, done, restored
from adocd.api.web.page.model.state import Lately, state_of
from adocd.api.web.page.model.units import text
from adocd.api.web.page.views import parts, why
from adocd.api.web.page.views.pins import Pins
from adocd.api.web.page.views.shell import Text, Visit, frame

#: Decisions to list: the first of them at once, the others on demand.
_SHOWN_DECISIONS = 60


class TargetPage:
    """One browser's view of one target."""

    def __init__(self, visit: Visit, target: str) -> None:
        self._visit = visit
        self._target = target
        self._told_version = (-1, -1)
        #: What the open dialog says of the pause that it would end, and of the policy that it would replace.
        self._told_pause: str | None = None
        self._told_policy: dict[str, Any] | None = None

    async def show(self) -> None:
        """Lay the page out, and keep it up to date."""
        visit = self._visit
        room = self._room = visit.room = visit.feed.enter(self._target)
        visit.client.on_delete(lambda: visit.feed.leave(room))
        with frame(visit, '<a href="/page/">All databases</a>'):
            self._head = Text()
            with ui.element("div") as self._body:
                self._lay_out()
        await self._refresh()
        visit.client.on_connect(self._panel.reset)
        visit.keep_fresh(self._refresh)

    def _lay_out(self) -> None:
        room, visit = self._room, self._visit
        with ui.element("div").classes("cards"):
            self._state = Text()
            self._verdict = Text()
            self._last = Text()
        self._restore_note = Text()
        self._buttons()
        with _section("What stalled, and why"):
            self._why = Text("panel")
        self._panel = Panel(room, visit.client, span.of_query(visit.query))
        self._panel.lay_out()
        with _section("Decisions"):
            self._decisions = Text()
        with ui.element("div").classes("two section"):
            with _section("Pins"):
                self._pins = Pins(room, visit)
            with _section("Options that differ from their originals"):
                self._changed = Text("panel")
        with ui.element("div").classes("two section"):
            with _section("Audit trail"):
                self._audit = Text("panel")
            with _section("Its configuration"):
                self._findings = Text("panel")

    def _buttons(self) -> None:
        visit, can = self._visit, self._visit.may_operate
        pause = confirmed(
            "pause", "Pause the tuner here?", "Its law stops deciding. Changed options stay, and pins still act.",
            "Pause", self._do_pause, reason=True, here=lambda: self._changed_here("These stay as they are"),
        )  # fmt: skip
        resume = confirmed(
            "resume", "Resume the tuner?", "Its law decides again.", "Resume", self._do_resume,
            here=self._seen_pause,
        )  # fmt: skip
        restore = confirmed(
            "restore", "Restore the originals?",
            "Every option of this database goes back to what its owner set, and adocd changes nothing new until "
            "you resume or set a policy. During a stall, the restore waits for the stall to end.",
            "Restore originals", self._do_restore, danger=True, here=lambda: self._changed_here("These go back"),
        )  # fmt: skip
        reset = confirmed(
            "reset", "Reset the policy?",
            "The policy of the configuration or of <code>adocd serve</code> applies to this database again.",
            "Reset it", self._do_reset, here=self._seen_policy,
        )  # fmt: skip
        policy = PolicyDialog(self._room, visit.actions)
        self._pin = PinDialog(self._room, visit.actions)
        with ui.element("div").classes("actions"):
            self._pause = act("Pause", "pause", pause, enabled=can)
            self._resume = act("Resume", "resume", resume, enabled=can)
            act("Restore originals", "restore", restore, enabled=can)
            act("Set policy…", "", policy.open, enabled=can)
            act("Reset policy", "", reset, enabled=can)
            act("Pin an option…", "", self._pin.open, enabled=can)

    def _changed_here(self, what: str) -> str:
        return "" if self._room.detail is None else settings.changed_in_words(self._room.detail, what)

    def _seen_pause(self) -> str:
        """Say why it is paused, and note that the operator was told."""
        self._told_pause = None if self._room.detail is None else self._room.detail["paused"]
        return "" if self._told_pause is None else f"Now {self._told_pause}."

    def _seen_policy(self) -> str:
        """Say which policy is in force, and note that the operator was told."""
        self._told_policy = None if self._room.detail is None else self._room.detail["policy"]
        if self._told_policy is None:
            return ""
        dry = " (dry run)" if self._told_policy["dry_run"] else ""
        return f"The policy is now {self._told_policy['controller']}{dry}."

    async def _do_pause(self, reason: str) -> ActionDone:
        answer = await self._visit.actions.do("POST", f"{self._room.path}/pause", {"reason": reason})
        self._room.ask_again()
        return done("Paused.", answer["warning"])

    async def _do_resume(self, reason: str) -> ActionDone:
        del reason
        seen = self._told_pause
        if (now := self._seen_pause()) and self._told_pause != seen:
            raise NotDone(f"it is paused for another reason than you were shown: {now}")
        answer = await self._visit.actions.do("POST", f"{self._room.path}/resume")
        self._room.ask_again()
        return done("Resumed.", answer["warning"])

    async def _do_restore(self, reason: str) -> ActionDone:
        del reason
        answer = await self._visit.actions.do("POST", f"{self._room.path}/restore")
        self._room.ask_again()
        return restored(answer)

    async def _do_reset(self, reason: str) -> ActionDone:
        del reason
        seen = self._told_policy
        if (now := self._seen_policy()) and self._told_policy != seen:
            raise NotDone(f"somebody has set another policy than you were shown: {now}")
        policy = await self._visit.actions.do("DELETE", f"{self._room.path}/policy")
        self._room.ask_again()
        return done(f"The policy is now {policy['controller']}.")

    async def _refresh(self) -> None:
        room, feed = self._room, self._visit.feed
        if room.missing is not None:
            self._head.show(f'<p class="note">{text(room.missing)} <a href="/page/">All databases</a></p>')
            if room.detail is None:  # a known target keeps its last figures: it may just be opening again
                self._visit.name("No such target - adocd")
                self._body.set_visibility(False)
            return
        if room.detail is None:
            self._head.show(f"<h1>{text(self._target)}</h1>")
            return
        if not self._body.visible:  # the target has appeared; charts that were laid out hidden have no size
            self._visit.client.run_javascript("location.reload()")
            return
        detail = room.detail | (feed.find(self._target) or {})
        now = room.now_unix_s
        rows = in_rows(room.decisions or filter(None, [detail["last_decision"]]))
        newest = decisions.newest(rows)
        last = None if newest is None else decisions.told(newest, history.measured(room.points), now)
        state = state_of(detail, Lately.of(history.lately(room.points)), room.read_unix_s)
        self._visit.name(f"{state.sign} {state.word}: {detail['path']} - adocd")
        self._head.show(f"<h1>{text(detail['path'])}</h1>{parts.facts(detail)}")
        self._state.show(parts.state_card(state))
        self._verdict.show(parts.verdict_card(room.verdict, detail))
        self._last.show(parts.last_card(detail, last, room.overrides))
        self._restore_note.show(parts.restore_note(detail))
        self._pause.set_visibility(not detail["paused"])
        self._resume.set_visibility(bool(detail["paused"]))
        self._changed.show(parts.changed_table(detail))
        self._audit.show(parts.audit(room.operations, more=room.has_older_operations))
        self._findings.show(parts.findings(room.findings, detail))
        self._why.show(why.diagnosis(room.diagnosis, undo(room.verdict, detail)))
        self._pins.refresh()
        self._show_decisions(now)
        await self._panel.refresh(time.monotonic())

    def _show_decisions(self, now_unix_s: float) -> None:
        """Update the list at a new decision, and twice a minute for the effects."""
        version = (self._room.decisions_version, int(now_unix_s // 30))
        if version == self._told_version:
            return
        self._told_version = version
        rows, spans = in_rows(self._room.decisions), history.measured(self._room.points)
        tolds = [decisions.told(row, spans, now_unix_s) for row in reversed(rows[-_SHOWN_DECISIONS:])]
        older = sum(row.times for row in rows[:-_SHOWN_DECISIONS])
        self._decisions.show(parts.decision_list(tolds, older, self._room.unread_decisions))


def _section(title: str) -> ui.element:
    section = ui.element("section").classes("section")
    with section:
        ui.html(f"<h2>{title}</h2>", sanitize=False)
    return section
