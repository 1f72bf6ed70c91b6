"""What is ours, where the way back leads, and who changed what we had set."""

from __future__ import annotations

from dataclasses import dataclass

from adocd.daemon.change.ledger import Deviation, Ledger
from adocd.daemon.change.settled import settled
from adocd.model.knob import MIB
from adocd.model.values import RATE_LIMITER, Values, of_database, of_family, of_pool
from tests.daemon.change.rocksdb_model import database, defaults, family

SIZE = of_family("default", "write_buffer_size")
JOBS = of_database("max_background_jobs")
OPENED_WITH = defaults()


@dataclass(frozen=True)
class Journaled:
    """What the journal says of an option."""

    original: str
    sent: tuple[str, ...]
    session: str = "now"

    def is_ours(self, value: str) -> bool:
        """Whether this value was sent."""
        return value != self.original and value in self.sent


# -- while nobody holds the lease


def test_the_baseline_follows_the_host_while_nothing_is_ours() -> None:
    ledger = Ledger(OPENED_WITH)
    ledger.unheld(OPENED_WITH | {SIZE: "7"}, {})
    assert ledger.baseline[SIZE] == "7"
    assert ledger.ours == set()


def test_what_the_journal_says_is_ours_goes_back_to_what_the_journal_says() -> None:
    """Found at an open: SetOptions persists, so what was tuned looks like an original (HAZARDS 17)."""
    tuned = OPENED_WITH | {SIZE: str(256 * MIB)}
    ledger = Ledger(tuned)
    ledger.unheld(tuned, {SIZE: Journaled(str(64 * MIB), (str(128 * MIB), str(256 * MIB)))})
    assert ledger.ours == {SIZE}
    assert ledger.baseline[SIZE] == str(64 * MIB)


def test_what_the_journal_does_not_know_is_somebody_elses() -> None:
    tuned = OPENED_WITH | {SIZE: str(96 * MIB)}
    ledger = Ledger(tuned)
    ledger.unheld(tuned, {SIZE: Journaled(str(64 * MIB), (str(128 * MIB),))})
    assert ledger.ours == set()
    assert ledger.baseline[SIZE] == str(96 * MIB)


def test_what_was_not_sent_takes_nothing_from_what_is_known() -> None:
    """Else the owner's next value would not count as somebody else's, and ours would be sent again over it."""
    ledger = Ledger(OPENED_WITH)
    ledger.sending({SIZE: "5"}, OPENED_WITH)
    ledger.seen({SIZE: "5"})
    tuned = OPENED_WITH | {SIZE: "5"}
    sent = {SIZE: "6", JOBS: "8"}
    ledger.not_sent(sent, ledger.sending(sent, tuned))
    assert ledger.ours == {SIZE}
    assert ledger.sent == {SIZE: "5"}
    (found,) = ledger.deviations(tuned | {SIZE: "7"})
    assert (found.option, found.outcome, found.expected) == (SIZE, "changed-by-someone-else", "5")


def test_what_was_found_out_since_a_change_that_was_not_sent_stays() -> None:
    ledger = Ledger(OPENED_WITH)
    sent = {SIZE: "6"}
    former = ledger.sending(sent, OPENED_WITH)
    ledger.give_up(SIZE, "7")
    ledger.not_sent(sent, former)
    assert ledger.ours == set()
    assert ledger.baseline[SIZE] == "7"


def test_what_was_sent_and_never_got_there_is_the_owners_again() -> None:
    ledger = Ledger(OPENED_WITH)
    ledger.sending({SIZE: "5", JOBS: "8"}, OPENED_WITH)
    ledger.seen({JOBS: "8"})
    ledger.settle(OPENED_WITH | {JOBS: "8"})
    assert ledger.ours == {JOBS}
    assert ledger.sent == {JOBS: "8"}
    ledger.watch(OPENED_WITH | {SIZE: "7", JOBS: "8"})
    assert ledger.baseline[SIZE] == "7"


def test_what_was_sent_and_got_there_without_an_answer_stays_ours() -> None:
    ledger = Ledger(OPENED_WITH)
    ledger.sending({SIZE: "5"}, OPENED_WITH)
    ledger.settle(OPENED_WITH | {SIZE: "5"})
    assert ledger.ours == {SIZE}


def test_a_plan_that_the_agent_did_not_take_leaves_the_one_before() -> None:
    ledger = holding(write_buffer_size=5)
    (deviation,) = ledger.deviations(OPENED_WITH | {SIZE: "6"})
    ledger.give_up(deviation.option, deviation.found)
    ledger.arming({SIZE})
    owners = OPENED_WITH | {SIZE: "7"}
    ledger.watch(owners)
    former = ledger.arming({SIZE})
    assert ledger.outdated(owners) == {}
    ledger.not_armed(former)
    assert ledger.outdated(owners) == {SIZE: "7"}, "so it is sent again"


def test_what_the_host_has_changed_is_never_in_a_plan() -> None:
    """It would hold the host to a value that it may change at any time."""
    ledger = Ledger(OPENED_WITH)
    current = OPENED_WITH | {SIZE: "7", of_pool("low"): "6", RATE_LIMITER: "5"}
    ledger.watch(current)
    assert ledger.to_name(current) == set()
    ledger.sending({JOBS: "8"}, current)
    assert ledger.to_name(current | {JOBS: "8"}) == {JOBS}


def test_what_somebody_has_taken_over_from_us_is_named_with_what_he_wants() -> None:
    """The agent refuses a plan that is silent on what this session's leases have changed."""
    ledger = holding(write_buffer_size=5)
    current = OPENED_WITH | {SIZE: "6"}
    (deviation,) = ledger.deviations(current)
    ledger.give_up(deviation.option, deviation.found)
    assert ledger.ours == set()
    assert ledger.to_name(current) == {SIZE}
    ledger.arming({SIZE})
    assert ledger.outdated(current) == {}
    ledger.watch(OPENED_WITH | {SIZE: "7"})
    assert ledger.outdated(OPENED_WITH | {SIZE: "7"}) == {SIZE: "7"}


def test_where_the_agent_asks_for_more_names_it_gets_them_all() -> None:
    """Another daemon has left something changed, and its journal is lost. Pools may have grown by themselves."""
    ledger = Ledger(OPENED_WITH)
    ledger.names_all = True
    current = OPENED_WITH | {SIZE: "7", of_pool("low"): "6", RATE_LIMITER: "5"} | family(of="new", write_buffer_size=1)
    assert ledger.to_name(current) == {SIZE}


def test_what_its_owner_has_set_back_is_named_where_the_agent_asks_for_more() -> None:
    """The native agent goes by what its leases have changed, not by what is there now."""
    ledger = holding(write_buffer_size=5)
    ledger.give_up(SIZE, OPENED_WITH[SIZE])
    assert ledger.to_name(OPENED_WITH) == set()
    ledger.names_all = True
    assert ledger.to_name(OPENED_WITH) == {SIZE}


def test_what_goes_back_is_its_owners_doing_where_rocksdb_takes_nothing_back() -> None:
    """From 9.11 on."""
    for is_reverted, outcome in ((True, "reverted-by-engine"), (False, "changed-by-someone-else")):
        ledger = holding(write_buffer_size=5)
        ledger.is_reverted = is_reverted
        (deviation,) = ledger.deviations(OPENED_WITH)
        assert deviation.outcome == outcome


def test_rocksdb_takes_nothing_database_wide_back() -> None:
    ledger = Ledger(OPENED_WITH)
    ledger.watch(OPENED_WITH)
    ledger.sending({JOBS: "8"}, OPENED_WITH)
    ledger.seen({JOBS: "8"})
    (deviation,) = ledger.deviations(OPENED_WITH)
    assert (ledger.is_reverted, deviation.outcome) == (True, "changed-by-someone-else")


def test_what_is_seen_back_is_its_owners_again() -> None:
    ledger = holding(write_buffer_size=5)
    ledger.sending({SIZE: OPENED_WITH[SIZE]}, OPENED_WITH | {SIZE: "5"})
    ledger.seen({SIZE: OPENED_WITH[SIZE]})
    assert ledger.ours == set()
    assert ledger.sent == {}
    assert ledger.deviations(OPENED_WITH | {SIZE: "9"}) == ()
    ledger.watch(OPENED_WITH | {SIZE: "9"})
    assert ledger.baseline[SIZE] == "9"


# -- while we hold it


def holding(before: Values = OPENED_WITH, **sent: int) -> Ledger:
    """A ledger that has sent these options of the default family and seen them."""
    ledger = Ledger(OPENED_WITH)
    ledger.watch(before)
    ledger.sending(family(sent), before)
    ledger.seen(family(sent))
    return ledger


def test_what_the_host_changes_of_its_own_is_where_the_way_back_leads() -> None:
    ledger = holding(write_buffer_size=128 * MIB)
    ledger.watch(OPENED_WITH | {SIZE: str(128 * MIB), JOBS: "3"})
    assert ledger.baseline[JOBS] == "3"
    assert ledger.baseline[SIZE] == str(64 * MIB), "what is ours has its original"


def test_what_is_about_to_be_sent_is_ours_already() -> None:
    """The call may take effect and its answer never come."""
    ledger = Ledger(OPENED_WITH)
    ledger.sending({SIZE: "1"}, OPENED_WITH)
    ledger.watch(OPENED_WITH | {SIZE: "1"})
    assert ledger.ours == {SIZE}
    assert ledger.baseline[SIZE] == str(64 * MIB)
    assert ledger.deviations(OPENED_WITH) == (), "nobody has seen it there"


def test_as_we_left_it_nobody_is_blamed() -> None:
    assert holding(write_buffer_size=5).deviations(OPENED_WITH | {SIZE: "5"}) == ()


def test_back_to_before_is_rocksdbs_doing() -> None:
    """A flush that began before the change ends after it (HAZARDS 2): it is sent again."""
    ledger = holding(write_buffer_size=5)
    (found,) = ledger.deviations(OPENED_WITH)
    assert found == Deviation(SIZE, "reverted-by-engine", "5", str(64 * MIB))
    assert str(found) == f"write_buffer_size (default) is {64 * MIB}, not 5: RocksDB took it back"
    assert ledger.deviations(OPENED_WITH) == (), "it is said once"


def test_before_is_what_was_there_before_the_last_change() -> None:
    ledger = holding(write_buffer_size=5)
    ledger.sending({SIZE: "6"}, OPENED_WITH | {SIZE: "5"})
    ledger.seen({SIZE: "6"})
    assert ledger.deviations(OPENED_WITH | {SIZE: "5"})[0].outcome == "reverted-by-engine"


def test_any_other_value_is_somebody_elses() -> None:
    ledger = holding(write_buffer_size=5)
    (found,) = ledger.deviations(OPENED_WITH | {SIZE: "7"})
    assert found.outcome == "changed-by-someone-else"
    assert str(found).endswith("is 7, not 5: somebody else changed it")


def test_who_takes_a_value_back_again_and_again_is_not_rocksdb() -> None:
    ledger = holding(write_buffer_size=5)
    outcomes = []
    for _ in range(4):
        outcomes += [deviation.outcome for deviation in ledger.deviations(OPENED_WITH)]
        ledger.sending({SIZE: "5"}, OPENED_WITH)
        ledger.seen({SIZE: "5"})
    assert outcomes == [*["reverted-by-engine"] * 3, "changed-by-someone-else"]


def test_what_is_left_to_somebody_else_goes_back_to_their_value() -> None:
    ledger = holding(write_buffer_size=5)
    ledger.give_up(SIZE, "7")
    assert ledger.baseline[SIZE] == "7"
    assert ledger.deviations(OPENED_WITH | {SIZE: "7"}) == ()


def test_nobody_is_blamed_for_pools_which_grow_by_themselves() -> None:
    ledger = Ledger(OPENED_WITH)
    sent = {of_pool("low"): "9"}
    ledger.sending(sent, OPENED_WITH)
    ledger.seen(sent)
    assert ledger.deviations(OPENED_WITH) == ()


def test_a_limiter_that_moves_was_moved_by_somebody_else_also_back() -> None:
    """RocksDB's own tuning may come by what was there before: it takes nothing back."""
    ledger = Ledger(OPENED_WITH)
    ledger.sending({RATE_LIMITER: "9"}, OPENED_WITH)
    ledger.seen({RATE_LIMITER: "9"})
    (deviation,) = ledger.deviations(OPENED_WITH)
    assert deviation.outcome == "changed-by-someone-else"
    assert str(deviation) == "rate_limiter_bytes_per_s is 67108864, not 9: somebody else changed it"


def test_what_was_released_is_the_agents() -> None:
    ledger = holding(write_buffer_size=5)
    ledger.released()
    assert ledger.ours == set()
    assert ledger.deviations(OPENED_WITH) == ()


def test_a_family_that_goes_takes_what_is_ours_with_it_and_one_that_comes_has_its_originals() -> None:
    two = defaults(("default", "index"))
    ledger = Ledger(two)
    ours = family(of="index", write_buffer_size=5) | family(write_buffer_size=6)
    ledger.sending(ours, two)
    ledger.seen(ours)
    ledger.reopened_with(OPENED_WITH | family(of="new", write_buffer_size=7))
    assert ledger.ours == {SIZE}
    assert ledger.baseline[SIZE] == str(64 * MIB)
    assert ledger.baseline[of_family("new", "write_buffer_size")] == "7"
    assert [deviation.option for deviation in ledger.deviations(OPENED_WITH)] == [SIZE]


def test_a_family_that_could_not_be_seen_for_some_time_has_the_originals_that_the_journal_knows() -> None:
    size = of_family("index", "write_buffer_size")
    ledger = Ledger(defaults(("default", "index")))
    ledger.reopened_with(OPENED_WITH)
    ledger.reopened_with(OPENED_WITH | family(of="index", write_buffer_size=5), left={size: Journaled("7", ("5",))})
    assert ledger.baseline[size] == "7"
    assert ledger.ours == {size}


# -- what the journal can forget


def test_the_journal_forgets_what_is_back_or_gone_and_nothing_unseen() -> None:
    known = Journaled("1", ("2",))
    left = {of_family(name, "write_buffer_size"): known for name in ("ours", "back", "strange", "dropped", "unseen")}
    current = {
        of_family(name, "write_buffer_size"): value for name, value in (("ours", "2"), ("back", "1"), ("strange", "3"))
    }
    found = {option.name for option in settled(left, current, "now", {"unseen"})}
    assert found == {"back", "dropped"}


def test_the_journal_forgets_what_another_open_has_come_up_with_unless_it_is_ours() -> None:
    left = {JOBS: Journaled("2", ("4",), session="before")}
    assert settled(left, database(max_background_jobs=3), "now", set()) == [JOBS]
    assert settled(left, database(max_background_jobs=4), "now", set()) == []


def test_the_journal_forgets_an_option_of_the_database_that_is_back() -> None:
    assert settled({JOBS: Journaled("2", ("4",))}, database(max_background_jobs=2), "now", {"unseen"}) == [JOBS]
