"""The compaction toggle: the thesis's conditions, our bounds, and the staged return."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.model.knob import Knob
from adocd.model.options import OUT_OF_THE_WAY
from tests.builders import FAMILY_OPTIONS, GIB
from tests.controllers.laws import MB, Plant, make, settings

CAP = 190 * MB
WINDOW_S = 10.0
#: 3.5: four flush threads, two for compaction, six memtables, two subcompactions, no slowdown by pending bytes.
PREPARED = {
    Knob.FLUSH_THREADS: 4,
    Knob.COMPACTION_THREADS: 2,
    Knob.SUBCOMPACTIONS: 2,
    Knob.DELAYED_WRITE_RATE: CAP,
    Knob.LEVEL0_SLOWDOWN: 128,
    Knob.LEVEL0_STOP: 128,
    Knob.SOFT_PENDING_LIMIT: 256 * GIB,
    Knob.MEMTABLE_NUMBER: 6,
}


def prepared_without(*knobs: Knob) -> dict[Knob, int]:
    """All that is prepared but these knobs."""
    return {knob: value for knob, value in PREPARED.items() if knob not in knobs}


class Scene:
    """A database with the law at work, and a load in percent of the cap."""

    def __init__(self, **parameters: float) -> None:
        self.law = make("toggle", **parameters)
        self.plant = Plant()

    def load(self, flush_pct: float, compaction_pct: float, steps: int = 1) -> dict[Knob, int]:
        """Live through so many windows, each of them in one look; what the last one decided."""
        self.plant.members["flush_written_bytes_per_s"] = CAP * flush_pct / 100
        self.plant.members["compaction_written_bytes_per_s"] = CAP * compaction_pct / 100
        found: dict[Knob, int] = {}
        for _ in range(steps):
            found = settings(self.plant.step(self.law))
        return found

    def is_on(self) -> bool:
        """Whether compaction is on."""
        return self.plant.now("disable_auto_compactions") == "false"

    def set(self, *, by_owner: bool, **options: str) -> None:
        """Let somebody else set options; those of the owner are the originals, too."""
        for option, value in options.items():
            (name,) = (each for each in self.plant.values if each.option == option)
            self.plant.values[name] = value
            if by_owner:
                self.plant.originals = {**self.plant.originals, name: value}


@pytest.mark.parametrize(
    ("flush", "compaction", "is_on"),
    [(50, 40, False), (49, 60, True), (50, 39, True), (90, 0, False), (0, 100, True), (0, 0, True)],
)
def test_off_needs_half_of_the_cap_by_flushes_and_nine_tenths_in_all(flush: int, compaction: int, is_on: bool) -> None:
    scene = Scene()
    scene.load(flush, compaction)
    assert scene.is_on() is is_on


def test_what_is_prepared() -> None:
    scene = Scene()
    assert scene.load(10, 10) == PREPARED
    assert scene.load(10, 10) == {}


@pytest.mark.parametrize(("owners", "held"), [(0, 0), (4 * GIB, 100 * GIB), (300 * GIB, 300 * GIB)])
def test_merges_fall_behind_by_so_much_and_no_more(owners: int, held: int) -> None:
    """The thesis has no pending limit at all; an owner who has none keeps none."""
    scene = Scene(pending_bytes_max=100 * GIB)
    scene.plant = Plant(soft_pending_compaction_bytes_limit="0", hard_pending_compaction_bytes_limit=str(owners))
    scene.load(10, 10)
    assert scene.plant.now("hard_pending_compaction_bytes_limit") == str(held)
    assert scene.plant.now("soft_pending_compaction_bytes_limit") == str(held)


def test_triggers_go_out_of_the_way_once_the_switch_is_seen_off_and_come_back() -> None:
    scene = Scene(dwell_s=0.0)
    scene.load(60, 40)
    assert not scene.is_on()
    assert scene.plant.now("level0_file_num_compaction_trigger") == "4"
    assert scene.load(60, 40) == dict.fromkeys(
        (Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP), OUT_OF_THE_WAY
    )
    scene.load(20, 10)
    assert scene.is_on()
    assert scene.plant.now("level0_file_num_compaction_trigger") == "4"


def test_the_bound_of_level_0_is_never_below_the_owners_trigger() -> None:
    """The guards refuse such limits, and level 0 would keep those of the peak: none."""
    scene = Scene(dwell_s=0.0, l0_files_max=8)
    scene.set(by_owner=True, level0_file_num_compaction_trigger="10")
    scene.load(60, 40)
    scene.load(60, 40)
    assert scene.plant.now("level0_stop_writes_trigger") == str(OUT_OF_THE_WAY)
    scene.load(20, 10)
    limits = [scene.plant.now(f"level0_{name}") for name in ("slowdown_writes_trigger", "stop_writes_trigger")]
    assert limits == ["10", "10"]


def test_where_compaction_is_kept_on_level_0_keeps_its_limits() -> None:
    """A pin or a guard holds the switch, and nothing else of the decision."""
    scene = Scene()
    scene.load(60, 40)
    assert not scene.is_on()
    scene.set(by_owner=False, disable_auto_compactions="false")
    assert scene.is_on()
    scene.load(60, 40)
    assert scene.plant.now("level0_file_num_compaction_trigger") == "4"
    assert scene.plant.now("level0_stop_writes_trigger") == "128"


def test_hysteresis_keeps_it_from_hovering() -> None:
    thesis, ours = Scene(hysteresis_pct=0, dwell_s=0.0), Scene(dwell_s=0.0)
    for scene in (thesis, ours):
        scene.load(60, 40)
        scene.load(49, 10)
    assert thesis.is_on()
    assert not ours.is_on()
    ours.load(39, 10)
    assert ours.is_on()


def test_between_the_conditions_it_holds() -> None:
    scene = Scene(dwell_s=0.0)
    scene.load(60, 40)
    scene.load(60, 10, steps=5)
    assert not scene.is_on(), "the thesis's open end: just above half, nothing switches it on"
    scene.load(45, 60, steps=5)
    assert not scene.is_on()
    scene.load(30, 65, steps=5)
    assert not scene.is_on(), "few flushes, but compactions would take what is left of the device"


def test_it_dwells_in_either_state() -> None:
    scene = Scene(dwell_s=30.0)
    scene.load(60, 40)
    for expected in (False, False, True):
        scene.load(0, 0)
        assert scene.is_on() is expected
    for expected in (True, True, False):
        scene.load(60, 40)
        assert scene.is_on() is expected


def test_the_time_off_is_bounded() -> None:
    scene = Scene(off_max_s=60.0)
    scene.load(60, 40)
    scene.load(60, 40, steps=5)
    assert not scene.is_on()
    scene.load(60, 40)
    assert scene.is_on()


@pytest.mark.parametrize(("l0_files", "l0_bytes"), [(128, 0), (10, 16 * GIB)])
def test_files_and_bytes_in_level_0_are_bounded(l0_files: int, l0_bytes: int) -> None:
    scene = Scene()
    scene.load(60, 40, steps=2)
    scene.plant.l0_files, scene.plant.level_bytes = l0_files, (l0_bytes, *[0] * 6)
    scene.load(60, 40)
    assert scene.is_on()
    scene.load(60, 40, steps=10)
    assert scene.is_on(), "nor is it switched off before level 0 has drained"


def test_the_return_is_staged() -> None:
    """Both L0 limits are at twice what level 0 holds or more, and come down as it drains, never up again."""
    scene = Scene(dwell_s=0.0, l0_files_max=50)
    scene.load(60, 40, steps=2)
    scene.plant.l0_files = 130
    stops = []
    for files in (130, 130, 70, 90, 26, 25, 40):
        scene.plant.l0_files = files
        scene.load(10, 80)
        stops.append(int(scene.plant.now("level0_stop_writes_trigger")))
        assert scene.plant.now("level0_slowdown_writes_trigger") == scene.plant.now("level0_stop_writes_trigger")
    assert stops == [400, 400, 200, 200, 100, 50, 50]
    assert scene.is_on()


def test_residual_holds_the_limiter_at_the_cap_and_nothing_else() -> None:
    scene = Scene(residual=True)
    assert scene.law.knobs == {Knob.RATE_LIMIT}
    assert scene.load(60, 40) == {Knob.RATE_LIMIT: CAP}
    assert scene.load(90, 10) == {}, "never the cap minus flushes: one limiter serves both"


def test_threads_can_be_left_to_another_law() -> None:
    scene = Scene(tune_threads=False)
    assert scene.load(10, 10) == prepared_without(Knob.FLUSH_THREADS, Knob.COMPACTION_THREADS)


def test_more_memtables_and_a_higher_rate_of_the_owners_stay() -> None:
    scene = Scene()
    scene.set(by_owner=True, max_write_buffer_number="8", delayed_write_rate=str(2 * CAP))
    assert scene.load(10, 10) == prepared_without(Knob.MEMTABLE_NUMBER, Knob.DELAYED_WRITE_RATE)


def test_bounds_are_looked_at_every_second_and_the_load_every_ten() -> None:
    scene = Scene(dwell_s=0.0)
    scene.load(60, 40, steps=2)
    scene.plant.l0_files = 127
    for _ in range(3):
        assert scene.plant.step(scene.law, 1.0) is None
    scene.plant.l0_files = 128
    decision = scene.plant.step(scene.law, 1.0)
    assert decision is not None
    assert decision.rule == "toggle.bound"
    assert scene.is_on()
    scene.plant.l0_files = 0
    for _ in range(15):
        scene.plant.step(scene.law, 1.0)
        assert scene.is_on(), "the window in which the bound spoke tells of both states"
    scene.plant.step(scene.law, 1.0)
    assert not scene.is_on()


def test_the_load_is_a_mean_over_ten_seconds() -> None:
    scene = Scene()
    for at_s, flush_pct in enumerate((90, 0, 90, 0, 90, 0, 90, 0, 90, 50)):
        assert scene.is_on(), at_s
        scene.plant.members["flush_written_bytes_per_s"] = CAP * flush_pct / 100
        scene.plant.members["compaction_written_bytes_per_s"] = CAP * 40 / 100
        scene.plant.step(scene.law, 1.0)
    assert not scene.is_on(), "50 % by flushes and 90 % in all, to the percent"


def test_what_is_not_measured_does_not_count() -> None:
    scene = Scene()
    scene.plant.members["flush_written_bytes_per_s"] = None
    assert [scene.plant.step(scene.law, 1.0) for _ in range(12)] == [None] * 12
    scene.load(60, 40)
    assert not scene.is_on()


def test_a_mean_does_not_span_a_pause() -> None:
    """Half of a window before it and half after it: a peak of five seconds is none of ten."""
    scene = Scene()
    scene.plant.members["flush_written_bytes_per_s"] = CAP * 90 / 100
    for _ in range(5):
        scene.plant.step(scene.law, 1.0)
    scene.plant.now_s += 3600.0
    scene.plant.members["flush_written_bytes_per_s"] = CAP * 40 / 100
    scene.plant.members["compaction_written_bytes_per_s"] = CAP * 60 / 100
    for _ in range(10):
        scene.plant.step(scene.law, 1.0)
    assert scene.is_on()


def test_compaction_stays_as_its_owner_has_it() -> None:
    scene = Scene()
    scene.load(10, 10)
    scene.set(by_owner=True, disable_auto_compactions="true")
    assert Knob.AUTO_COMPACTION not in scene.load(10, 10)
    scene.load(60, 40, steps=2)
    assert Knob.AUTO_COMPACTION not in scene.load(10, 10, steps=2)
    assert not scene.is_on()


def test_a_column_family_that_is_made_while_compaction_is_off_is_switched_off_too() -> None:
    scene = Scene()
    scene.load(60, 40, steps=2)
    new = replace(scene.plant.sample(WINDOW_S).column_families[0], name="new")

    def look(**options: str) -> dict[tuple[Knob, str | None], int]:
        now = scene.plant.sample(WINDOW_S)
        families = {**now.options.column_families, "new": FAMILY_OPTIONS | options}
        now = replace(
            now, column_families=(*now.column_families, new), options=replace(now.options, column_families=families)
        )
        decision = scene.law.step(now)
        return {} if decision is None else {(s.knob, s.column_family): s.value for s in decision.settings}

    assert look()[Knob.AUTO_COMPACTION, "new"] == 0
    out = look(disable_auto_compactions="true")
    assert out[Knob.LEVEL0_STOP, "new"] == OUT_OF_THE_WAY
    assert (Knob.AUTO_COMPACTION, "default") not in out
    assert look()[Knob.AUTO_COMPACTION, "default"] == 1, "now somebody has switched it on"


def test_a_bulk_load_of_the_owners_bounds_nothing_elsewhere() -> None:
    """Its compaction is off whatever the law does; its 500 files kept the law from ever acting."""
    scene = Scene()
    scene.plant.members["flush_written_bytes_per_s"] = CAP * 60 / 100
    scene.plant.members["compaction_written_bytes_per_s"] = CAP * 40 / 100

    def look() -> dict[tuple[Knob, str | None], int]:
        now = scene.plant.sample(WINDOW_S)
        assert now.originals is not None
        (cf,) = now.column_families
        loaded = replace(cf, name="loaded", l0_files=500, level_bytes=(64 * GIB, *[0] * 6))
        its = FAMILY_OPTIONS | {"disable_auto_compactions": "true"}
        options, originals = (
            replace(each, column_families={**each.column_families, "loaded": its})
            for each in (now.options, now.originals)
        )
        now = replace(now, column_families=(cf, loaded), options=options, originals=originals)
        decision = scene.law.step(now)
        return {} if decision is None else {(s.knob, s.column_family): s.value for s in decision.settings}

    assert look()[Knob.AUTO_COMPACTION, "default"] == 0
    scene.set(by_owner=False, disable_auto_compactions="true")
    for _ in range(3):
        assert (Knob.AUTO_COMPACTION, "default") not in look(), "it goes on"
    scene.plant.l0_files = 128
    assert look()[Knob.AUTO_COMPACTION, "default"] == 1, "the bound of what the law has switched off"
