"""TiKV's flow controller: hand-computed steps of its tables."""

from __future__ import annotations

import pytest

from adocd.controllers import registry
from adocd.controllers.admitted import UNLIMITED_BYTES_PER_S
from adocd.controllers.tikv import Tikv, TikvParameters
from adocd.model.knob import MIB, Knob
from adocd.model.policy import Policy
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.snapshot import Event, OptionValues
from tests.builders import DATABASE_OPTIONS, GIB, column_family, sample

MB = 1_000_000
#: What the law holds from the start on: RocksDB's stop is high enough.
HELD = {
    Knob.LEVEL0_SLOWDOWN: 21,
    Knob.SOFT_PENDING_LIMIT: 192 * GIB,
    Knob.HARD_PENDING_LIMIT: 0,
}


class Scene:
    """A database that does what the law decides, second by second."""

    def __init__(self, **parameters: int) -> None:
        self.law = Tikv(TikvParameters(**parameters))
        self.control = self.law._flow_control
        self.now_s = 100.0
        self.rate = 16 * MIB
        #: By column family: what the law has set there.
        self.set: dict[str, dict[Knob, int]] = {}
        self.rule = ""

    def second(
        self,
        *families: ColumnFamilySample,
        events: tuple[str, ...] = (),
        flow: float | None = 40 * MB,
        in_force: int = 0,
        seconds: float = 1.0,
    ) -> dict[Knob, int]:
        """Live through a second in which these events end: `flush`, `l0`, `deep`, or one `flush of FAMILY`."""
        self.now_s += seconds
        found = self._sample(*(families or (column_family(),)), events=events, flow=flow, in_force=in_force)
        decision = self.law.step(found)
        self.rule = "" if decision is None else decision.rule
        decided: dict[Knob, int] = {}
        for setting in () if decision is None else decision.settings:
            decided[setting.knob] = setting.value
            if setting.knob is Knob.DELAYED_WRITE_RATE:
                self.rate = setting.value
            else:
                self.set.setdefault(setting.column_family or "", {})[setting.knob] = setting.value
        return decided

    def files(self, n: int, *events: str, name: str = "default", flow: float | None = 40 * MB) -> int:
        """Live through a second with so many files in level 0; the rate that is set then."""
        self.second(column_family(name, l0_files=n), events=events, flow=flow)
        return self.rate

    def _sample(
        self, *families: ColumnFamilySample, events: tuple[str, ...], flow: float | None, in_force: int
    ) -> Sample:
        owners = sample(*families).options
        values = {name: dict(its) for name, its in owners.column_families.items()}
        for name, decided in self.set.items():
            if name in values:
                options = {
                    Knob.LEVEL0_SLOWDOWN: "level0_slowdown_writes_trigger",
                    Knob.LEVEL0_STOP: "level0_stop_writes_trigger",
                    Knob.SOFT_PENDING_LIMIT: "soft_pending_compaction_bytes_limit",
                    Knob.HARD_PENDING_LIMIT: "hard_pending_compaction_bytes_limit",
                }
                values[name] |= {options[knob]: str(value) for knob, value in decided.items()}
        database = DATABASE_OPTIONS | {"delayed_write_rate": str(self.rate)}
        return sample(
            *families,
            monotonic_s=self.now_s,
            written_bytes_per_s=flow,
            events=tuple(_event(word, self.now_s) for word in events),
            options=OptionValues(database, values),
            originals=OptionValues(DATABASE_OPTIONS, owners.column_families),
            delayed_write_rate_bytes_per_s=in_force,
            condition="delayed" if in_force else "normal",
        )


def _event(words: str, now_s: float) -> Event:
    what, _, family = words.partition(" of ")
    family = family or "default"
    if what == "flush":
        return Event(1, now_s, "flush_end", column_family=family)
    base, output = {"l0": (0, 1), "within": (0, 0), "deep": (1, 2)}[what]
    return Event(1, now_s, "compaction_end", column_family=family, base_level=base, output_level=output)


def flowing(**parameters: int) -> Scene:
    """A database that has been written at 40 MB/s for a while, with an empty level 0."""
    scene = Scene(**parameters)
    for _ in range(5):
        scene.second()
    assert scene.rate == 40 * MB
    return scene


# -- what is set beforehand


def test_triggers_and_the_next_rate_are_set_before_there_is_anything_to_limit() -> None:
    scene = Scene()
    assert scene.second() == {**HELD, Knob.DELAYED_WRITE_RATE: 40 * MB}
    assert scene.rule == "tikv.unlimited"
    assert scene.second() == {}


def test_a_stop_below_36_is_raised() -> None:
    early = column_family(level0_slowdown_writes_trigger=8, level0_stop_writes_trigger=12)
    assert Scene().second(early)[Knob.LEVEL0_STOP] == 36


def test_without_a_flow_the_rate_is_the_owners() -> None:
    assert Scene().second(flow=0.0) == HELD
    assert Scene().second(flow=None) == HELD


def test_the_flow_is_its_90th_percentile_of_30_seconds_with_writes() -> None:
    """Ten seconds at 10 MB/s and a second at 90: index 0.9 x 11 = 9 is still 10 MB/s; with one more it is 90."""
    scene = Scene()
    for _ in range(10):
        scene.second(flow=10 * MB)
        scene.second(flow=0.0)
    assert scene.second(flow=90 * MB) == {}
    assert scene.rate == 10 * MB
    assert scene.second(flow=90 * MB) == {Knob.DELAYED_WRITE_RATE: 90 * MB}


def test_a_full_database_is_not_held_at_once() -> None:
    """Level 0 has to be seen below its limit once; until then the owner's limits stay."""
    scene = Scene()
    assert scene.second(column_family(l0_files=30), events=("flush",)) == {}
    assert scene.second(column_family(l0_files=20), events=("flush",)) == {}
    assert scene.second(column_family(l0_files=19)) == {**HELD, Knob.DELAYED_WRITE_RATE: 40 * MB}


def test_a_level_0_that_rises_counts_too() -> None:
    """30, 31 and 34: the newer half's 32.5 is 2.5 above 30."""
    scene = Scene()
    scene.files(30, "flush")
    assert scene.second(column_family(l0_files=31), events=("flush",)) == {}
    found = scene.second(column_family(l0_files=34), events=("flush",))
    assert found == {**HELD, Knob.DELAYED_WRITE_RATE: 40 * MB}
    assert scene.rule == "tikv.limited"


def test_until_all_families_count_the_rate_is_the_owners() -> None:
    """What the owner's limits hold is no flow to begin with."""
    scene = Scene()
    for flow in (5 * MB, 2 * MB):
        scene.second(column_family(), column_family("full", l0_files=30), flow=flow, in_force=16 * MIB)
        assert scene.rate == 16 * MIB
    scene.second(column_family(), column_family("full", l0_files=19), flow=5 * MB)
    assert scene.rate == 5 * MB


def test_limits_of_an_earlier_policy_are_given_back_until_it_counts() -> None:
    scene = Scene()
    scene.set = {"default": {Knob.LEVEL0_SLOWDOWN: 21, Knob.HARD_PENDING_LIMIT: 0}}
    given_back = scene.second(column_family(l0_files=30))
    assert given_back[Knob.LEVEL0_SLOWDOWN] == 20
    assert given_back[Knob.HARD_PENDING_LIMIT] == 256 * GIB


# -- level 0


def test_a_limit_begins_at_the_flow_and_falls_by_a_fifth_at_each_event() -> None:
    scene = flowing()
    assert scene.files(20, "flush") == 40 * MB
    assert scene.rule == ""
    assert scene.files(21, "flush") == 40 * MB  # it begins, at what is set
    assert scene.files(22) == 40 * MB, "no event"
    assert scene.files(22, "deep") == 40 * MB, "no event of level 0"
    assert scene.files(22, "flush") == 32 * MB
    assert scene.files(22, "l0") == 25_600_000
    assert scene.files(22, "within") == 20_480_000
    assert scene.files(22, "flush", "flush") == 13_107_200
    assert scene.rule == "tikv.limited"


def test_it_ends_at_once_and_the_next_one_begins_at_five_quarters_of_it() -> None:
    scene = flowing()
    scene.files(21, "flush")
    assert scene.files(22, "flush") == 32 * MB
    assert scene.files(20, "l0") == 40 * MB  # 1.25 x 32
    assert scene.rule == "tikv.unlimited"
    scene.files(21, "flush")
    assert scene.files(21, "flush") == 32 * MB
    assert scene.files(21, "flush") == 25_600_000
    assert scene.files(3, "l0") == 32 * MB


def test_a_limit_stops_falling_at_the_floor_and_above_200_mib_it_is_none() -> None:
    scene = flowing()
    for _ in range(20):
        scene.files(22, "flush")
    assert scene.control.limit == MIB
    assert scene.rate < 1.1 * MIB
    fast = Scene()
    for _ in range(3):
        fast.second(flow=300 * MB)
    assert fast.files(22, "flush", flow=300 * MB) == UNLIMITED_BYTES_PER_S, "RocksDB would hold writes to 300 MB/s"
    assert fast.files(22, "flush", flow=300 * MB) == UNLIMITED_BYTES_PER_S, "no limit, so nothing is lowered"


def test_a_family_without_compaction_limits_nothing_by_level_0() -> None:
    """RocksDB does not delay for its level 0 either; 0.8 a flush would hold all others at the floor for good."""
    scene = flowing()
    loaded = column_family("loaded", l0_files=100, disable_auto_compactions=True)
    for _ in range(10):
        scene.second(column_family(), loaded, events=("flush of loaded",))
    assert scene.control.limit is None
    assert scene.rate == 40 * MB
    assert "loaded" not in scene.set, "its owner's limits stay"
    scene.second(column_family(l0_files=21), loaded, events=("flush",))
    assert scene.control.holder == "default"
    scene.second(column_family(l0_files=21, disable_auto_compactions=True), loaded)
    assert scene.control.limit is None, "the holder no longer compacts, so nobody else would end it"


def test_the_rate_is_put_back_where_rocksdb_lowers_it() -> None:
    scene = flowing()
    scene.files(21, "flush")
    full = column_family(l0_files=22)
    assert scene.second(full, in_force=32 * MB) == {}
    assert scene.second(full, in_force=31 * MB) == {Knob.DELAYED_WRITE_RATE: 40 * MB + 1}
    assert scene.second(full, in_force=40 * MB) == {}


def test_a_delay_that_level_0_has_not_begun_is_at_the_flow() -> None:
    """By the last memtable, for which TiKV has no limit yet: the next limit by level 0 would be far lower."""
    scene = flowing()
    for n in (21, 22, 22, 3):
        scene.files(n, "flush")
    assert scene.rate == 32 * MB
    last = column_family(max_write_buffer_number=4, immutable_memtables=3)
    assert scene.second(last, in_force=32 * MB) == {Knob.DELAYED_WRITE_RATE: 40 * MB}
    assert scene.second() == {Knob.DELAYED_WRITE_RATE: 32 * MB}


def families(default: int, other: int) -> tuple[ColumnFamilySample, ...]:
    return column_family(l0_files=default), column_family("other", l0_files=other)


def test_only_the_holder_lowers_and_ends_its_limit() -> None:
    scene = flowing()
    scene.second(*families(22, 0), events=("flush",))
    scene.second(*families(22, 0), events=("flush of other",))
    assert scene.rate == 40 * MB
    scene.second(*families(22, 26), events=("flush of other",))  # not more than 22 + 4
    assert scene.rate == 40 * MB
    scene.second(*families(22, 26), events=("flush",))
    assert scene.rate == 32 * MB


def test_another_family_takes_over_with_5_files_more_than_the_holder_ever_had() -> None:
    scene = flowing()
    scene.second(*families(22, 0), events=("flush",))
    scene.second(*families(21, 27), events=("flush of other",))
    assert scene.rate == 32 * MB
    scene.second(*families(3, 27), events=("l0",))
    assert scene.rate == 32 * MB, "the first one is no longer the holder"
    scene.second(*families(3, 20), events=("l0 of other",))
    assert scene.rate == 40 * MB


def test_a_holder_that_is_dropped_leaves_no_limit_behind() -> None:
    scene = flowing()
    scene.second(*families(0, 0))
    scene.second(*families(0, 22), events=("flush of other",))
    scene.second(*families(0, 22), events=("flush of other",))
    assert scene.rate == 32 * MB
    scene.second(column_family())
    assert scene.rule == "tikv.unlimited"
    assert scene.rate == 40 * MB


# -- memtables


def full_of(immutable: int, n: int = 0) -> ColumnFamilySample:
    return column_family(immutable_memtables=immutable, l0_files=n, max_write_buffer_number=8)


def test_memtables_limit_by_their_mean_and_move_the_limit_by_1_mib() -> None:
    """4, 6, 6 have a mean of 5.33: the limit begins at 20 MB/s. Then 7: 5.75, and 6 again."""
    scene = Scene()
    for _ in range(3):
        scene.second(flow=20 * MB)

    def flush(immutable: int) -> int:
        scene.second(full_of(immutable), events=("flush",), flow=20 * MB)
        return scene.rate

    assert flush(4) == 20 * MB
    assert scene.rule == ""
    assert flush(6) == 20 * MB  # the mean is 5
    assert flush(6) == 20 * MB
    for more, steps in ((7, 1), (8, 2), (9, 3)):
        flush(more)
        assert scene.control.limit == 20 * MB - steps * MIB
    assert scene.rate == 20 * MB - 2 * MIB, "less than a tenth is left out"
    flush(8)
    assert scene.control.limit == 20 * MB - 2 * MIB
    flush(8)
    assert scene.control.limit == 20 * MB - 2 * MIB, "it neither rose nor fell"
    flush(4)
    assert scene.control.limit is None, "fewer than 5 end what memtables began"


def test_while_memtables_set_the_limit_level_0_does_not() -> None:
    scene = flowing()
    for immutable in (4, 7, 7):
        scene.second(full_of(immutable), events=("flush",))
    for _ in range(3):
        scene.second(full_of(7, n=30), events=("l0",))
    assert scene.rate == 40 * MB


def test_what_memtables_took_off_a_limit_by_level_0_they_give_back() -> None:
    scene = flowing()
    scene.second(full_of(4, n=22), events=("flush",))  # 4 < 5: memtables count from here on; level 0 limits to 40 MB/s
    scene.second(full_of(9, n=22), events=("flush",))  # mean 6.5, rose: - 1 MiB/s; then level 0: x 0.8
    scene.second(full_of(10, n=22), events=("flush",))
    limit = ((40 * MB - MIB) * 0.8 - MIB) * 0.8
    assert scene.control.limit == pytest.approx(limit)
    scene.second(full_of(0, n=22), events=("flush",))
    assert scene.control.limit == pytest.approx((limit + 2 * MIB) * 0.8)


def test_only_the_family_with_most_memtables_counts() -> None:
    scene = flowing()
    few, many = column_family(immutable_memtables=6), column_family("other", immutable_memtables=7)
    scene.second(column_family(), column_family("other"), events=("flush", "flush of other"))
    for _ in range(20):
        scene.second(few, many, events=("flush",))
    assert scene.control.limit is None
    for _ in range(6):
        scene.second(few, many, events=("flush of other",))
    assert scene.control.limit == 40 * MB


# -- pending bytes: log2 of soft 64 and hard 1024 bytes, 6 and 10, so that a step of 1 is a quarter


def owing(scene: Scene, pending: int, *, n: int = 0) -> int:
    cf = column_family(pending_compaction_bytes=pending, l0_files=n)
    scene.second(cf, events=("deep",), flow=40 * MB)
    return scene.rate


def small() -> Scene:
    """Soft 64 MiB (2^26), hard 1024 MiB (2^30); debt has been below, at 1."""
    scene = flowing(soft_pending_bytes=64 * MIB, hard_pending_bytes=1024 * MIB)
    owing(scene, 1)
    return scene


def test_a_burst_of_debt_does_not_drop_anything() -> None:
    """The mean of 0 and 30 is 15, far below 26."""
    scene = small()
    owing(scene, 1024 * MIB)
    assert scene.rate == 40 * MB


def test_the_drop_begins_at_a_hundredth_and_nears_the_share_of_the_way() -> None:
    """With the window at 28, half of the way: 0.01, then 0.6 x 0.01 + 0.4 x 0.5 = 0.206, then 0.3236."""
    scene = small()
    for _ in range(1100):  # the window's 1024 values are then all 2^28
        scene.control.pending(column_family(pending_compaction_bytes=256 * MIB), scene.now_s)
    control = scene.control
    assert control.drop == pytest.approx(0.5, abs=1e-6)
    control.drop = 0.0
    drops = []
    for _ in range(3):
        owing(scene, 256 * MIB)
        drops.append(control.drop)
    assert drops == pytest.approx([0.01, 0.206, 0.3236])
    assert scene.rate == pytest.approx(40 * MB * (1 - 0.3236), abs=1)


def test_the_rate_is_taken_off_the_flow_from_before_and_off_a_limit() -> None:
    scene = small()
    control = scene.control
    for _ in range(1100):
        control.pending(column_family(pending_compaction_bytes=256 * MIB), scene.now_s)
    control.drop, control.offered = 0.25, 40.0 * MB
    scene.second(flow=10 * MB)
    assert scene.rate == 30 * MB, "not of the flow that it has itself lowered"
    scene.files(21, "flush")
    control.drop = 0.25
    assert scene.files(21, "flush") == pytest.approx(0.75 * 0.8 * 40 * MB, abs=1)


def test_debt_that_was_seen_five_minutes_ago_drops_nothing() -> None:
    """Its family compacts no more, so no event of its own would say that it has paid."""
    scene = small()
    for _ in range(1100):
        scene.control.pending(column_family(pending_compaction_bytes=256 * MIB), scene.now_s)
    scene.second()
    assert scene.control.drop > 0.4
    scene.second(seconds=301.0)
    assert scene.control.drop == 0.0


def test_no_bytes_pending_count_as_0_and_end_the_drop() -> None:
    scene = small()
    scene.control.drop = 0.5
    owing(scene, 0)
    assert scene.control.drop == 0.0


def test_pending_bytes_count_only_once_below_the_soft_limit_or_rising_for_a_minute() -> None:
    scene = flowing(soft_pending_bytes=64 * MIB, hard_pending_bytes=1024 * MIB)
    for _ in range(10):
        owing(scene, 1024 * MIB)
    assert scene.control.drop == 0.0
    scene.now_s += 60.0
    for _ in range(12):
        owing(scene, 16 * 1024 * MIB)  # 2^34, 4 more
    assert scene.control.drop > 0.0


def test_the_limits_have_to_be_in_order() -> None:
    with pytest.raises(registry.PolicyError, match="is not above soft_pending_bytes"):
        registry.create(Policy("tikv", {"soft_pending_bytes": GIB, "hard_pending_bytes": GIB}))


def test_after_a_pause_all_of_it_is_set_again() -> None:
    scene = flowing()
    scene.set, scene.rate = {}, 16 * MIB
    assert scene.second(seconds=600.0) == {**HELD, Knob.DELAYED_WRITE_RATE: 40 * MB}


def test_an_event_of_a_family_that_is_gone_is_nobodys() -> None:
    scene = flowing()
    assert scene.second(events=("flush of dropped", "l0 of dropped")) == {}
