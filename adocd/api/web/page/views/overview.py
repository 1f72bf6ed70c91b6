"""The first page: all targets at a glance, the worst first, and the actions for all of them."""

from nicegui import ui

from adocd.api.web.page.actions.dialogs import act, confirmed
from adocd.api.web.page.model.done import ActionDone, all_restored, done
from adocd.api.web.page.model.units import text
from adocd.api.web.page.views import parts
from adocd.api.web.page.views.listing import Rows, TargetListing
from adocd.api.web.page.views.shell import Text, Visit, frame

_EMPTY = (
    '<div class="card"><h2>No database is open</h2><p>Start a program under the agent: '
    "<code>adocd exec -- PROGRAM</code></p></div>"
)


class Overview:
    """One browser's view of all targets."""

    def __init__(self, visit: Visit, listing: TargetListing) -> None:
        self._visit = visit
        self._listing = listing

    async def show(self) -> None:
        """Lay the page out, and keep it up to date."""
        visit = self._visit
        with frame(visit, ""):
            with ui.element("div").classes("actions"):
                self._summary = Text("summary", "role=status")
                ui.element("span").style("flex: 1 1 auto")
                self._buttons()
            self._problems = Text()
            self._rows = Rows()
            self._rest = Text()
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
            "Every option goes back to what its owner set, and adocd changes nothing new until you resume, or set a "
            "database's policy, which ends it for that one. During a stall, the restore waits for the stall to end.",
            "Restore all", self._restore, danger=True,
        )  # fmt: skip
        act("Pause all", "pause", pause, enabled=can)
        act("Resume all", "resume", resume, enabled=can)
        act("Restore all", "restore", restore, enabled=can)

    async def _pause(self, reason: str) -> ActionDone:
        answer = await self._visit.actions.do("POST", "/v1/pause", {"reason": reason})
        return done("All tuners are paused.", answer["warning"])

    async def _resume(self, reason: str) -> ActionDone:
        del reason
        answer = await self._visit.actions.do("POST", "/v1/resume")
        return done("All tuners are resumed.", answer["warning"])

    async def _restore(self, reason: str) -> ActionDone:
        del reason
        answer = await self._visit.actions.do("POST", "/v1/restore")
        return all_restored(answer, self._name_of)

    def _name_of(self, target: str) -> str:
        """Return a target's path, which people know it by; what is in the list by no id is a socket's path."""
        known = self._visit.feed.find(target)
        return target if known is None else str(known["path"])

    async def _refresh(self) -> None:
        feed, listed = self._visit.feed, self._listing.listed()
        self._visit.name(f"{listed.sign} {listed.summary} adocd" if listed.rows else "adocd")
        self._summary.show(f"<h1>{text(listed.summary)}</h1>")
        self._problems.show(parts.problems(feed.problems, feed.journal))
        self._rows.show(listed.rows)
        rest = f'<p class="muted">and {listed.more} more: see adocctl targets.</p>' if listed.more else ""
        self._rest.show(_EMPTY if feed.is_listed and not listed.rows else rest)
