"""The list of all targets, made once a tick for all open pages, and its rows, of which a browser gets what changes."""

from collections.abc import Mapping
from dataclasses import dataclass

from nicegui import ui

from adocd.api.web.page.feed import PageFeed
from adocd.api.web.page.model import state
from adocd.api.web.page.views import parts
from adocd.api.web.page.views.shell import Text

#: Most targets in the list: a page of thousands does not help at night. adocctl shows the others.
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Listed:
    """The list: one sentence about all targets, the sign of the worst, rows of HTML by target, the worst first.

    `more`: how many targets have no row.
    """

    summary: str
    sign: str
    rows: Mapping[str, str]
    more: int


class TargetListing:
    """The list as of the feed's last tick; all pages share one."""

    def __init__(self, feed: PageFeed) -> None:
        self._feed = feed
        self._made: tuple[int, Listed] | None = None

    def listed(self) -> Listed:
        """Return the list, which is made by whoever asks first after a tick."""
        version = self._feed.version
        if self._made is None or self._made[0] != version:
            self._made = version, self._make()
        return self._made[1]

    def _make(self) -> Listed:
        feed = self._feed
        targets = state.worst_first((target, feed.state(target)) for target in feed.targets.values())
        # Until the daemon has answered, nobody knows whether there is a database.
        summary = state.summary([now for _, now in targets]) if feed.is_listed else "Asking the daemon…"
        rows = {}
        for target, now in targets[:MOST_ROWS]:
            glance = feed.glance(target["id"])
            rows[target["id"]] = parts.glance_row(target, now, glance.parts, glance.old_unix_s)
        return Listed(summary, targets[0][1].sign if targets else "", rows, max(0, len(targets) - MOST_ROWS))


class Rows(ui.element, component="rows.js"):
    """Rows of HTML, each an element of its own, so that a row that moves stays the same, and keeps the focus."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[str, Text] = {}

    def show(self, rows: Mapping[str, str]) -> None:
        """Show these rows, by key, in their order; the caller must have escaped their text."""
        for gone in self._texts.keys() - rows.keys():
            self._texts.pop(gone).delete()
        with self:
            for key, html in rows.items():
                if key not in self._texts:
                    self._texts[key] = Text()
                self._texts[key].show(html)
        order: list[ui.element] = [self._texts[key] for key in rows]
        if self.default_slot.children != order:
            self.default_slot.children[:] = order
            self.update()
