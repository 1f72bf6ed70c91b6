"""The list of all targets: made once for all pages, and of its rows only those are sent that have changed."""

from __future__ import annotations

from typing import Any

from nicegui.client import Client

from adocd.api.web.page.feed import Glance
from adocd.api.web.page.model.state import State, state_of
from adocd.api.web.page.views import listing
from adocd.api.web.page.views.listing import Rows, TargetListing
from tests.page.laid_out import laid_out
from tests.page.points import stall, target


class Feed:
    """A feed as of some tick, which counts how many states it is asked for."""

    def __init__(self, *targets: dict[str, Any]) -> None:
        self.version, self.is_listed, self.asked = 1, True, 0
        self.targets = {each["id"]: each for each in targets}

    def state(self, of: dict[str, Any]) -> State:
        """Tell a state."""
        self.asked += 1
        return state_of(of)

    def glance(self, _: str) -> Glance:
        """Know nothing."""
        return Glance()


def listing_of(feed: Any) -> TargetListing:
    return TargetListing(feed)


def test_all_pages_of_a_tick_share_one_list() -> None:
    feed = Feed(target(id="a", path="/a"), target(id="b", path="/b", stall=stall()))
    made = listing_of(feed)
    first = made.listed()
    assert list(first.rows) == ["b", "a"], "the worst comes first"
    assert made.listed() is first
    assert feed.asked == 2
    feed.version += 1
    assert made.listed() is not first
    assert feed.asked == 4


def test_what_has_no_row_is_counted_and_not_called_better() -> None:
    targets = [target(id=f"t{number}", path=f"/{number:04}") for number in range(listing.MOST_ROWS + 3)]
    listed = listing_of(Feed(*targets)).listed()
    assert (len(listed.rows), listed.more) == (listing.MOST_ROWS, 3)


def test_before_the_list_is_read_nobody_says_that_there_is_none() -> None:
    feed = Feed()
    assert listing_of(feed).listed().summary == "No database with an agent is open."
    feed.is_listed = False
    assert listing_of(feed).listed().summary == "Asking the daemon…"


def test_only_what_has_changed_is_sent() -> None:
    async def body(client: Client) -> None:
        rows = Rows()
        rows.show({"a": "<p>1</p>", "b": "<p>2</p>", "c": "<p>3</p>"})
        elements = dict(rows._texts)

        def sent(shown: dict[str, str]) -> set[str]:
            client.outbox.updates.clear()
            rows.show(shown)
            names = {rows.id: "order"} | {element.id: key for key, element in elements.items()}
            return {names[id_] for id_ in client.outbox.updates}

        assert sent({"a": "<p>1</p>", "b": "<p>2</p>", "c": "<p>3</p>"}) == set()
        assert sent({"a": "<p>1</p>", "b": "<p>9</p>", "c": "<p>3</p>"}) == {"b"}
        assert sent({"c": "<p>3</p>", "a": "<p>1</p>", "b": "<p>9</p>"}) == {"order"}
        assert rows._texts == elements, "a row that moves stays the same element"
        assert [each.id for each in rows] == [elements[key].id for key in ("c", "a", "b")]
        assert sent({"c": "<p>3</p>", "b": "<p>9</p>"}) == {"order", "a"}
        assert len(list(rows)) == 2

    laid_out(body)
