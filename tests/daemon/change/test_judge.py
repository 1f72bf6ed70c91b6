"""What made things worse is taken back, and rests; what chance may have done is kept."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from adocd.daemon.change.guards.guard import Note
from adocd.daemon.change.judge import TAKE_BACK, Judge
from adocd.model.decision import Decision, Setting
from adocd.model.knob import Knob
from adocd.model.sample import Sample
from adocd.model.snapshot import OptionValues
from tests.builders import DATABASE_OPTIONS, sample

JOBS, RATE, SUBCOMPACTIONS = Knob.BACKGROUND_JOBS, Knob.DELAYED_WRITE_RATE, Knob.SUBCOMPACTIONS
MB = 1_000_000
#: What the law decides elsewhere, in a test where that does not matter.
LAW = Decision((Setting(SUBCOMPACTIONS, 4),), "writes wait", "law.flood", "so more of them")


class Scene:
    """A database under a judge: a second with 100 MB/s written, and writers that wait for a share of it."""

    def __init__(self, judge_s: float = 30.0) -> None:
        self.judge = Judge(judge_s)
        self.now_s = 1000.0
        self.jobs, self.subcompactions = 4, 1
        self.random = Random(1)  # noqa: S311

    def sample(self, waited: float | None = 0.1, mb_per_s: float = 100.0, seconds: float = 1.0) -> Sample:
        """Measure a second, or more; the owner has 4 background jobs and merges in one thread."""
        return sample(
            monotonic_s=self.now_s,
            interval_s=seconds,
            background_jobs=self.jobs,
            options=OptionValues(database=DATABASE_OPTIONS | {"max_subcompactions": str(self.subcompactions)}),
            originals=OptionValues(database={"max_background_jobs": "4", "max_subcompactions": "1"}),
            waited_fraction=waited,
            stalled_fraction=waited,
            written_bytes_per_s=mb_per_s * MB,
        )

    def live(self, seconds: int, waited: float = 0.1, mb_per_s: float = 100.0, spread: float = 0.02) -> Decision | None:
        """Live for some seconds; return what the judge decides, at most once."""
        found = []
        for _ in range(seconds):
            self.now_s += 1.0
            share = min(1.0, max(0.0, waited + self.random.gauss(0, spread)))
            written = mb_per_s * (1 + self.random.gauss(0, spread))
            self.judge.observe(self.sample(share, written))
            if (decided := self.judge.verdict(self.sample(share, written))) is not None:
                found.append(decided)
        assert len(found) <= 1
        return found[0] if found else None

    def turn(self, jobs: int) -> None:
        """Let the law's decision be carried out."""
        self.judge.carried_out((Setting(JOBS, jobs),), self.sample())
        self.jobs = jobs

    def split(self, threads: int) -> None:
        """Let the law's decision about another knob be carried out."""
        self.judge.carried_out((Setting(SUBCOMPACTIONS, threads),), self.sample())
        self.subcompactions = threads

    def rest(self, jobs: int) -> tuple[tuple[Setting, ...], tuple[Note, ...]]:
        """Ask whether the law may turn its knob."""
        return self.judge.rest((Setting(JOBS, jobs),), self.sample())


def observed(scene: Scene, seconds: int, waited: float) -> None:
    """Live for some seconds in which nobody asks for a verdict."""
    for _ in range(seconds):
        scene.now_s += 1.0
        scene.judge.observe(scene.sample(waited))


def test_a_change_after_which_writers_wait_longer_is_taken_back() -> None:
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    decided = scene.live(30, waited=0.4)
    assert decided is not None
    assert (decided.rule, decided.settings) == (TAKE_BACK, (Setting(JOBS, 4),))
    assert decided.signal == "writers waited 10 % before and 40 % after"


def test_its_knob_rests_for_ten_trials_and_another_does_not() -> None:
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    assert scene.live(30, waited=0.4) is not None
    assert scene.rest(8) == (
        (),
        (Note("judge", "background_jobs has made things worse, so it rests for 300 s"),),
    )
    other = (Setting(RATE, 8 * MB),)
    assert scene.judge.rest(other, scene.sample()) == (other, ())
    scene.now_s += 300.0
    assert scene.rest(8) == ((Setting(JOBS, 8),), ())


def test_a_change_after_which_held_writers_write_less_is_taken_back() -> None:
    scene = Scene()
    scene.live(60, waited=0.5)
    scene.turn(8)
    decided = scene.live(30, waited=0.5, mb_per_s=60)
    assert decided is not None
    assert decided.signal == "held writers wrote 94.9 MiB/s before and 57.7 MiB/s after"


def test_writers_who_want_less_are_no_reason() -> None:
    scene = Scene()
    scene.live(60, waited=0.0, spread=0.0)
    scene.turn(8)
    assert scene.live(60, waited=0.0, mb_per_s=10, spread=0.0) is None


def test_what_helps_or_changes_nothing_is_kept() -> None:
    for waited in (0.0, 0.1, 0.13):
        scene = Scene()
        scene.live(60)
        scene.turn(8)
        assert scene.live(60, waited=waited) is None
        assert scene.rest(16)[1] == ()


def test_a_difference_within_the_noise_is_kept() -> None:
    """Seconds that are 0 or 1 by chance differ by more than the margin between two windows, and mean nothing."""
    taken = 0
    for seed in range(40):
        scene = Scene()
        scene.random = Random(seed)  # noqa: S311
        scene.live(60, waited=0.5, spread=0.5)
        scene.turn(8)
        taken += scene.live(30, waited=0.5, spread=0.5) is not None
    assert taken <= 8


def test_further_changes_join_the_trial_and_all_go_back_to_where_it_began() -> None:
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    scene.live(10, waited=0.4)
    scene.turn(12)
    decided = scene.live(20, waited=0.4)
    assert decided is not None
    assert decided.settings == (Setting(JOBS, 4),)


def test_what_is_back_already_needs_no_decision() -> None:
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    scene.turn(4)
    assert scene.live(30, waited=0.4) is None


def test_too_little_before_or_nothing_measured_says_nothing() -> None:
    young = Scene()
    young.live(8)
    young.turn(8)
    assert young.live(60, waited=0.9) is None
    blind = Scene()
    blind.turn(8)
    for _ in range(60):
        blind.now_s += 1
        blind.judge.observe(blind.sample(None))
        assert blind.judge.verdict(blind.sample(None)) is None


def test_without_the_bytes_written_nothing_is_judged() -> None:
    """A load that rises would be taken for harm."""
    scene = Scene()
    unknown = [replace(scene.sample(waited), written_bytes_per_s=None) for waited in (0.1, 0.9)]
    for second in range(90):
        scene.now_s += 1
        now = replace(unknown[second // 45], monotonic_s=scene.now_s)
        scene.judge.observe(now)
        if second == 45:
            scene.turn(8)
        assert scene.judge.verdict(now) is None


def test_it_judges_only_where_the_policy_asks_for_it() -> None:
    scene = Scene(judge_s=0.0)
    scene.live(60)
    scene.turn(8)
    assert scene.live(60, waited=0.9) is None


def test_the_first_change_of_a_law_is_judged_by_what_was_seen_before_it() -> None:
    scene = Scene()
    seen = []
    for _ in range(40):
        scene.now_s += 1.0
        seen.append(scene.sample())
    scene.judge.remember(seen)
    scene.turn(8)
    decided = scene.live(31, waited=0.4)
    assert decided is not None
    assert decided.settings == (Setting(JOBS, 4),)


def test_what_goes_back_to_the_owner_is_not_judged_and_may_go_while_its_knob_rests() -> None:
    """Else a load that grows in that moment would hold the law's values for ten trials."""
    scene = Scene()
    scene.jobs = 8
    scene.live(60)
    scene.turn(4)
    assert scene.live(60, waited=0.9) is None
    scene.turn(8)
    assert scene.live(30, waited=0.99, mb_per_s=50) is not None
    assert scene.rest(8)[0] == ()
    assert scene.rest(4) == ((Setting(JOBS, 4),), ())


def test_nothing_is_taken_back_away_from_the_owners_value() -> None:
    scene = Scene()
    scene.jobs = 12
    scene.live(60)
    scene.turn(6)
    assert scene.live(30, waited=0.9) is None
    assert scene.rest(12) == ((Setting(JOBS, 12),), ())


def test_writers_who_wait_longer_and_write_more_are_no_reason() -> None:
    """A law acts where a load begins, so its first change would be blamed for the load."""
    scene = Scene()
    scene.live(60, waited=0.0, mb_per_s=10)
    scene.turn(8)
    assert scene.live(60, waited=0.2, mb_per_s=80) is None


def test_a_long_silence_of_the_agent_counts_with_its_length() -> None:
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    scene.now_s += 65.0
    silent = scene.sample(0.9, seconds=65.0)
    scene.judge.observe(silent)
    decided = scene.judge.verdict(silent)
    assert decided is not None, "what came before the change is still known, and the silence spans enough blocks"
    assert decided.signal == "writers waited 10 % before and 90 % after"


def test_what_is_seen_while_a_change_is_on_its_way_counts() -> None:
    """The cycle asks for no verdict then, and that is when SetOptions holds writers."""
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    for _ in range(25):
        scene.now_s += 1.0
        scene.judge.observe(scene.sample(1.0))
    decided = scene.live(5, waited=0.1)
    assert decided is not None
    assert decided.signal == "writers waited 10 % before and 85 % after"


def test_a_take_back_that_did_not_arrive_is_decided_again_until_the_value_is_back() -> None:
    """Its sending may fail, a guard may refuse it, or an operator may pause in that moment."""
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    first = scene.live(30, waited=0.4)
    assert first is not None
    assert scene.live(4, waited=0.4) is None, "so that the law is asked, too"
    assert scene.live(1, waited=0.4) == first
    scene.jobs = 4
    assert scene.live(60, waited=0.4) is None


def test_a_take_back_ends_with_the_rest_of_its_knob() -> None:
    """Then the law may turn the knob again, and that is judged anew."""
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    assert scene.live(30, waited=0.4) is not None
    scene.now_s += 299.0
    assert scene.judge.verdict(scene.sample()) is not None
    scene.now_s += 1.0
    assert scene.rest(8)[1] == ()
    assert scene.judge.verdict(scene.sample()) is None


def test_a_repetition_leaves_the_law_its_decisions_for_the_length_of_a_trial() -> None:
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    for _ in range(30):
        scene.now_s += 1.0
        scene.judge.observe(scene.sample(0.4))
    decided_s = [
        second
        for second in range(100)
        if scene.judge.verdict(replace(scene.sample(), monotonic_s=scene.now_s + second), LAW) is not None
    ]
    assert decided_s == [0, 35, 70], "the first time at once, whatever the law decides"


def test_what_did_not_arrive_stays_due_while_another_change_is_judged() -> None:
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    assert scene.live(30, waited=0.4) is not None
    scene.split(2)
    for _ in range(35):
        scene.now_s += 1.0
        scene.judge.observe(scene.sample(0.4))
    decided = scene.judge.verdict(scene.sample())
    assert decided is not None
    assert decided.settings == (Setting(JOBS, 4),)


def test_a_trial_that_spans_a_pause_is_judged_by_its_own_seconds() -> None:
    """The load of the hour after it says nothing of the change."""
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    observed(scene, 30, waited=0.1)
    observed(scene, 3600, waited=0.9)
    assert scene.live(60, waited=0.9) is None
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    observed(scene, 30, waited=0.4)
    observed(scene, 3600, waited=0.0)
    decided = scene.live(1, waited=0.0)
    assert decided is not None
    assert decided.signal == "writers waited 10 % before and 40 % after"


def test_of_a_long_silence_only_the_seconds_within_the_trial_count() -> None:
    scene = Scene()
    scene.live(60, waited=0.2, spread=0.0)
    scene.turn(8)
    observed(scene, 15, waited=0.2)
    scene.now_s += 600.0
    silent = scene.sample(1.0, seconds=600.0)
    scene.judge.observe(silent)
    decided = scene.judge.verdict(silent)
    assert decided is not None
    assert decided.signal == "writers waited 20 % before and 60 % after"


def test_what_is_kept_is_bounded_where_nobody_asks_for_a_verdict() -> None:
    """As in a pause of days."""
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    observed(scene, 10_000, waited=0.4)
    assert len(scene.judge._seconds) <= 61


def test_a_rate_that_must_be_set_each_second_is_neither_judged_nor_held_back() -> None:
    """RocksDB lowers it by itself in each delay: at rest it would come down to a standstill."""
    scene = Scene()
    scene.live(60)
    now = replace(scene.sample(), delayed_write_rate_bytes_per_s=16 * MB)
    scene.judge.carried_out((Setting(RATE, 16 * MB + 1),), now)
    assert scene.live(60, waited=0.4) is None
    scene.turn(8)
    scene.judge.carried_out((Setting(RATE, 8 * MB),), now)
    decided = scene.live(30, waited=0.8)
    assert decided is not None
    assert decided.settings == (Setting(JOBS, 4),)
    assert scene.judge.rest((Setting(RATE, 16 * MB),), now) == ((Setting(RATE, 16 * MB),), ())


@pytest.mark.parametrize(
    ("owners", "before", "now", "goes_back"),
    [
        (256, 0, 512, False),  # a law that ends its hold in stages: without the limit nothing would hold the debt
        (256, 512, 0, True),
        (64, 256, 0, True),
        (64, 0, 256, False),
        (0, 0, 64, True),
        (0, 256, 64, True),
        (0, 64, 256, False),
        (0, 256, 0, False),
    ],
)
def test_off_is_above_every_limit(owners: int, before: int, now: int, goes_back: bool) -> None:
    scene, limit = Scene(), Knob.HARD_PENDING_LIMIT
    scene.live(60)

    def of(gib: int) -> OptionValues:
        return OptionValues(column_families={"default": {"hard_pending_compaction_bytes_limit": str(gib << 30)}})

    def limited(gib: int) -> Sample:
        return replace(scene.sample(), options=of(gib), originals=of(owners))

    scene.judge.carried_out((Setting(limit, now << 30, "default"),), limited(before))
    observed(scene, 30, waited=0.4)
    decided = scene.judge.verdict(limited(now))
    assert (decided is not None) is goes_back
    if decided is not None:
        assert decided.settings == (Setting(limit, before << 30, "default"),)


def test_late_changes_of_a_trial_that_made_nothing_worse_get_one_of_their_own() -> None:
    """Two seconds of harm in thirty are little, and the next change would be blamed for it."""
    scene = Scene()
    scene.live(60)
    scene.split(2)
    scene.live(28)
    scene.turn(8)
    decided = scene.live(30, waited=0.4)
    assert decided is not None
    assert decided.settings == (Setting(JOBS, 4),)


def test_what_follows_a_take_back_is_compared_with_the_time_before_the_harm() -> None:
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    assert scene.live(30, waited=0.4) is not None
    scene.jobs = 4
    scene.live(2, waited=0.4)
    scene.split(2)
    decided = scene.live(30, waited=0.35)
    assert decided is not None
    assert decided.settings == (Setting(SUBCOMPACTIONS, 1),)
    assert decided.signal == "writers waited 12 % before and 35 % after"


def test_a_change_made_while_harm_is_taken_back_is_judged_from_then_on() -> None:
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    assert scene.live(30, waited=0.4) is not None
    scene.split(2)
    assert scene.live(3, waited=0.4) is None
    scene.jobs = 4
    assert scene.live(60, waited=0.1) is None, "it had no part in it"


def test_what_the_daemon_knows_the_reason_of_ends_the_trial_and_not_the_rest() -> None:
    """An operator's restore, say, brings stalls that are no fault of the law's."""
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    scene.live(10)
    scene.judge.begin_anew()
    scene.live(12, waited=0.5)
    scene.turn(8)
    assert scene.live(60, waited=0.5) is None
    scene.turn(12)
    assert scene.live(30, waited=0.9) is not None
    scene.judge.begin_anew()
    assert scene.rest(12)[1] != ()


def test_a_take_back_leaves_the_law_what_it_gives_back_to_the_owner() -> None:
    scene = Scene()
    scene.live(60)
    scene.turn(8)
    observed(scene, 30, waited=0.4)
    now = replace(
        scene.sample(),
        options=OptionValues(database={"max_subcompactions": "4"}),
    )
    law = Decision((Setting(SUBCOMPACTIONS, 1), Setting(JOBS, 16)), "all is calm", "law.calm", "so it goes back")
    decided = scene.judge.verdict(now, law)
    assert decided is not None
    assert decided.settings == (Setting(JOBS, 4), Setting(SUBCOMPACTIONS, 1))
