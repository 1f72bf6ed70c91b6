"""The first page: all targets at a glance, the worst first, and the actions for all of them."""

from typing import Any

from nicegui import ui

from adocd.api.restored import not_back
from adocd.api.web.page.actions.dialogs import act, confirmed
from adocd.api.web.page.model import state
from adocd.api.web.page.model.state import State
from adocd.api.web.page.model.units import text
from adocd.api.web.page.views import parts
from adocd.api.web.page.views.shell import Text, Visit, frame

#: Most targets in the list: a page of thousands does not help at night. adocctl shows the others.
_MOST_ROWS = 200


class Overview:
    """One browser's view of all targets."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    async def show(self) -> None:
        """Lay the page out, and keep it up to date."""
        visit = self._visit
        with frame(visit, ""):
            with ui.element("div").classes("actions"):
                self._summary = Text("summary", "role=status")
                ui.element("span").style("flex: 1 1 auto")
                self._buttons()
            self._problems = Text()
            self._list = Text("list")
        await self._refresh()
        visit.keep_fresh(self._refresh)

    def _buttons(self) -> None:
        can = self._visit.may_operate
        pause = confirmed(
            "pause-all", "Pause all tuners?",
            "The laws of all databases stop deciding, also of those that open later. Changed options stay as they are.",
            "Pause all", self._pause, reason=True,
        )  # fmt: skip
        resume = confirmed(
            "resume-all", "Resume all tuners?", "This also ends the pause that a restore began.",
            "Resume all", self._resume,
        )  # fmt: skip
        restore = confirmed(
            "restore-all", "Restore the originals of all databases?",
            "Every option goes back to what its owner set, and adocd changes nothing new until you resume. "
            "During a stall, the restore waits for the stall to end.",
            "Restore all", self._restore, danger=True,
        )  # fmt: skip
        act("Pause all", "pause", pause, enabled=can)
        act("Resume all", "resume", resume, enabled=can)
        act("Restore all", "restore", restore, enabled=can)

    async def _pause(self, reason: str) -> str:
        answer = await self._visit.actions.do("POST", "/v1/pause", {"reason": reason})
        return f"All tuners are paused. {answer['warning'] or ''}"

    async def _resume(self, reason: str) -> str:
        del reason
        answer = await self._visit.actions.do("POST", "/v1/resume")
        return f"All tuners are resumed. {answer['warning'] or ''}"

    async def _restore(self, reason: str) -> str:
        del reason
        answer = await self._visit.actions.do("POST", "/v1/restore")
        left = "".join(f" {target}: {why}." for target, why in not_back(answer).items())
        said = f"The originals of {len(answer['restored'])} databases are being restored."
        return f"{said}{left and f' Not all is restored:{left}'} {answer['warning'] or ''}"

    def _row(self, target: dict[str, Any], now: State) -> str:
        glance = self._visit.feed.glance(target["id"])
        return parts.glance_row(target, now, glance.parts, glance.old_unix_s)

    async def _refresh(self) -> None:
        feed = self._visit.feed
        targets = state.worst_first((target, feed.state(target)) for target in feed.targets.values())
        rows = "".join(self._row(target, now) for target, now in targets[:_MOST_ROWS])
        more = len(targets) - _MOST_ROWS
        rest = f'<p class="muted">and {more} more in a better state.</p>' if more > 0 else ""
        empty = (
            '<div class="card"><h2>No database is open</h2><p>Start a program under the agent: '
            "<code>adocd exec -- PROGRAM</code></p></div>"
        )
        # Until the daemon has answered, nobody knows whether there is a database.
        summary = "Asking the daemon…" if feed.journal is None else state.summary([now for _, now in targets])
        self._visit.name(f"{targets[0][1].sign} {summary} adocd" if targets else "adocd")
        self._summary.show(f"<h1>{text(summary)}</h1>")
        self._problems.show(parts.problems(feed.problems, feed.journal))
        self._list.show((rows + rest) if targets else empty if feed.journal is not None else "")
