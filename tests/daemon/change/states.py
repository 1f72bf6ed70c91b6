"""Strategies: databases with valid options, and what happens to them from moment to moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from adocd.model.knob import MIB
from adocd.model.values import RATE_LIMITER, OptionName, Values, of_database, of_family, of_pool
from tests.builders import GIB
from tests.daemon.change.rocksdb_model import HARD, SLOWDOWN, SOFT, STOP, SWITCH, TRIGGER, defaults

FAMILIES = ("default", "index")
_OFF = 0


@dataclass(frozen=True)
class Pile:
    """What waits for compaction, and for flushes, in each family."""

    l0: Mapping[str, int]
    pending: Mapping[str, int]
    immutable: Mapping[str, int]


@dataclass(frozen=True)
class Moment:
    """One cycle: what the database is like, what is wanted from now on, and what becomes of what is sent.

    `pins` None: those from before. `calls`: so many of the plan's calls are executed, the rest is rejected; None: all.
    """

    pile: Pile
    #: What RocksDB would let delayed writes have, and how often it has looked at a delay since the last cycle.
    delayed_rate: int
    looks: int
    wishes: Values
    pins: Values | None
    forgets: bool = False
    journal_is_full: bool = False
    calls: int | None = None


_triggers = st.sampled_from([1, 2, 4, 5, 10, 20, 21, 36, 64, 1000, 1 << 30])
_limits = st.sampled_from([_OFF, MIB, GIB, 2 * GIB, 64 * GIB, 256 * GIB])
_sizes = st.sampled_from([MIB, 8 * MIB, 64 * MIB, 128 * MIB, 200 * MIB, 512 * MIB])
_numbers = st.integers(2, 8)
_switch = st.sampled_from(["false", "true"])
_jobs = st.integers(1, 20)
_rates = st.sampled_from([MIB, 2 * MIB, 8 * MIB, 16 * MIB])
_syncs = st.sampled_from([MIB // 2, MIB, 2 * MIB])
_multipliers = st.sampled_from(["10.000000", "8.000000"])


def _text(values: st.SearchStrategy[int]) -> st.SearchStrategy[str]:
    return values.map(str)


def _limit_order(value: int) -> float:
    return value or float("inf")


_trios = st.lists(_triggers, min_size=3, max_size=3).map(sorted)
_pairs = st.lists(_limits, min_size=2, max_size=2).map(lambda pair: sorted(pair, key=_limit_order))
_DATABASE = {
    "max_background_jobs": _text(_jobs),
    "delayed_write_rate": _text(_rates),
    "max_subcompactions": _text(st.integers(1, 8)),
    "bytes_per_sync": _text(_syncs),
    "wal_bytes_per_sync": _text(_syncs),
    "max_total_wal_size": _text(_sizes),
    "compaction_readahead_size": _text(_sizes),
}
_FAMILY = {
    "write_buffer_size": _text(_sizes),
    "max_write_buffer_number": _text(_numbers),
    "target_file_size_base": _text(_sizes),
    "max_bytes_for_level_base": _text(_sizes),
    "max_bytes_for_level_multiplier": _multipliers,
    "max_compaction_bytes": _text(_sizes),
    SWITCH: _switch,
}
_PROCESS: list[dict[OptionName, str]] = [
    {of_pool("low"): "5"},
    {of_pool("high"): "3"},
    {RATE_LIMITER: str(32 * MIB)},
]
#: What nobody should get through: out of bounds, no numbers, no options, no longer there.
_NONSENSE = {
    of_family("default", "write_buffer_size"): st.sampled_from(["0", "1e7", "64M", str(5000 * MIB)]),
    of_family("default", STOP): st.sampled_from(["0", "-1", str(1 << 40)]),
    of_family("default", TRIGGER): st.just("0"),
    of_family("default", "max_compaction_bytes"): st.just("0"),
    of_family("default", "max_bytes_for_level_base"): st.just(str(1 << 59)),
    of_family("gone", STOP): st.just("36"),
    of_family("default", SWITCH): st.just("maybe"),
    of_database("delayed_write_rate"): st.sampled_from(["0", "17"]),
    of_database("max_open_files"): st.just("1"),
    of_pool("low"): st.sampled_from(["0", "1000"]),
    RATE_LIMITER: st.just("1"),
}


#: What a few options that make sense together, or one, or nonsense, may be about.
STOPS = ("triggers", "limits", "one trigger", "switch")
ALL = (*STOPS, "family", "family", "database", "process", "nonsense")


@st.composite
def _chunks(draw: st.DrawFn, kinds: tuple[str, ...]) -> dict[OptionName, str]:
    family = draw(st.sampled_from(FAMILIES))
    match draw(st.sampled_from(kinds)):
        case "triggers":
            found = dict(zip((TRIGGER, SLOWDOWN, STOP), draw(_trios), strict=True))
        case "limits":
            found = dict(zip((SOFT, HARD), draw(_pairs), strict=True))
        case "one trigger":
            option = draw(st.sampled_from([TRIGGER, SLOWDOWN, STOP, SOFT, HARD]))
            found = {option: draw(_limits if option in (SOFT, HARD) else _triggers)}
        case "switch":
            return {of_family(family, SWITCH): draw(_switch)}
        case "family":
            option = draw(st.sampled_from(sorted(_FAMILY)))
            return {of_family(family, option): draw(_FAMILY[option])}
        case "database":
            option = draw(st.sampled_from(sorted(_DATABASE)))
            return {of_database(option): draw(_DATABASE[option])}
        case "process":
            return draw(st.sampled_from(_PROCESS))
        case _:
            name = draw(st.sampled_from(sorted(_NONSENSE, key=str)))
            return {name: draw(_NONSENSE[name])}
    return {of_family(family, option): str(value) for option, value in found.items()}


@st.composite
def wanted(draw: st.DrawFn, kinds: tuple[str, ...]) -> dict[OptionName, str]:
    """What a law or an operator may come to want."""
    merged: dict[OptionName, str] = {}
    for chunk in draw(st.lists(_chunks(kinds), max_size=5)):
        merged |= chunk
    return merged


@st.composite
def databases(draw: st.DrawFn) -> dict[OptionName, str]:
    """The options of a database as its owner has opened it: valid, and not always within our bounds."""
    values = defaults(FAMILIES)
    for family in FAMILIES:
        found = dict(zip((TRIGGER, SLOWDOWN, STOP), draw(_trios), strict=True))
        found |= dict(zip((SOFT, HARD), draw(_pairs), strict=True))
        found |= {"write_buffer_size": draw(_sizes | st.just(MIB // 4)), "max_write_buffer_number": draw(_numbers)}
        values |= {of_family(family, option): str(value) for option, value in found.items()}
        values[of_family(family, SWITCH)] = draw(st.sampled_from(["false", "false", "false", "true"]))
    values[of_database("delayed_write_rate")] = draw(_text(_rates | st.just(MIB // 2)))
    values[of_database("bytes_per_sync")] = draw(st.sampled_from(["0", str(MIB)]))
    jobs = draw(_jobs)
    values[of_database("max_background_jobs")] = str(jobs)
    # RocksDB has seen to it at the open that the pools can run that many.
    return values | {of_pool("low"): str(jobs), of_pool("high"): str(jobs)}


_piles = st.builds(
    Pile,
    l0=st.fixed_dictionaries(dict.fromkeys(FAMILIES, st.sampled_from([0, 0, 3, 19, 20, 28, 35, 36, 63, 150, 250]))),
    pending=st.fixed_dictionaries(dict.fromkeys(FAMILIES, st.sampled_from([0, 0, MIB, GIB, 3 * GIB, 300 * GIB]))),
    immutable=st.fixed_dictionaries(dict.fromkeys(FAMILIES, st.sampled_from([0, 0, 1, 2, 4, 7]))),
)
piles = st.lists(_piles, min_size=1, max_size=4)


def moments(kinds: tuple[str, ...], most: int) -> st.SearchStrategy[list[Moment]]:
    """Live through some cycles, in which options of these kinds are wanted."""
    moment = st.builds(
        Moment,
        pile=_piles,
        delayed_rate=st.sampled_from([0, 0, 0, 17, 3 * MIB, 16 * MIB]),
        looks=st.integers(0, 2),
        wishes=wanted(kinds),
        pins=st.none() | wanted(kinds),
        forgets=st.sampled_from([False, False, False, True]),
        journal_is_full=st.sampled_from([False, False, False, False, True]),
        calls=st.sampled_from([None, None, None, 0, 1, 2]),
    )
    return st.lists(moment, min_size=1, max_size=most)
