"""RocksDB's rule of when writes are held: line by line, and what must hold for any figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from adocd.model.stall import COUNTS, NORMAL, StallVerdict, counted, judge
from tests.builders import column_family

#: Small numbers, so that each line is a step away from the next.
OPTIONS = replace(
    column_family().options,
    max_write_buffer_number=5,
    min_write_buffer_number_to_merge=1,
    level0_slowdown_writes_trigger=8,
    level0_stop_writes_trigger=12,
    soft_pending_compaction_bytes_limit=100,
    hard_pending_compaction_bytes_limit=200,
)
FIGURES = {"immutable_memtables": 0, "l0_files": 0, "pending_compaction_bytes": 0}
RANK = {"normal": 0, "delayed": 1, "stopped": 2}
OFF = {"disable_auto_compactions": True}


@pytest.mark.parametrize(
    ("figures", "options", "verdict"),
    [
        ({}, {}, NORMAL),
        ({"immutable_memtables": 5}, {}, StallVerdict("stopped", "memtable")),
        ({"immutable_memtables": 4}, {}, StallVerdict("delayed", "memtable")),
        ({"immutable_memtables": 3}, {}, NORMAL),
        # Up to 3 memtables there is no delay by them.
        ({"immutable_memtables": 2}, {"max_write_buffer_number": 3}, NORMAL),
        ({"immutable_memtables": 3}, {"max_write_buffer_number": 3}, StallVerdict("stopped", "memtable")),
        ({"immutable_memtables": 3}, {"max_write_buffer_number": 4}, StallVerdict("delayed", "memtable")),
        # Those that wait to be merged do not delay (6.18 and later).
        ({"immutable_memtables": 4}, {"min_write_buffer_number_to_merge": 3}, StallVerdict("delayed", "memtable")),
        ({"immutable_memtables": 4}, {"min_write_buffer_number_to_merge": 4}, NORMAL),
        ({"l0_files": 7}, {}, NORMAL),
        ({"l0_files": 8}, {}, StallVerdict("delayed", "l0")),
        ({"l0_files": 11}, {}, StallVerdict("delayed", "l0")),
        ({"l0_files": 12}, {}, StallVerdict("stopped", "l0")),
        ({"l0_files": 11}, {"level0_slowdown_writes_trigger": -1}, NORMAL),
        ({}, {"level0_slowdown_writes_trigger": 0}, StallVerdict("delayed", "l0")),
        ({}, {"level0_stop_writes_trigger": 0}, StallVerdict("stopped", "l0")),
        ({"pending_compaction_bytes": 99}, {}, NORMAL),
        ({"pending_compaction_bytes": 100}, {}, StallVerdict("delayed", "pending_bytes")),
        ({"pending_compaction_bytes": 200}, {}, StallVerdict("stopped", "pending_bytes")),
        ({"pending_compaction_bytes": 150}, {"soft_pending_compaction_bytes_limit": 0}, NORMAL),
        (
            {"pending_compaction_bytes": 1 << 50},
            {"hard_pending_compaction_bytes_limit": 0},
            StallVerdict("delayed", "pending_bytes"),
        ),
        # Without automatic compactions only memtables count.
        ({"l0_files": 99, "pending_compaction_bytes": 1 << 50}, OFF, NORMAL),
        ({"immutable_memtables": 4, "l0_files": 99}, OFF, StallVerdict("delayed", "memtable")),
        ({"immutable_memtables": 5, "l0_files": 99}, OFF, StallVerdict("stopped", "memtable")),
        # Stops before delays, and among each memtables, level 0, pending bytes.
        ({"immutable_memtables": 4, "pending_compaction_bytes": 200}, {}, StallVerdict("stopped", "pending_bytes")),
        ({"immutable_memtables": 4, "l0_files": 12}, {}, StallVerdict("stopped", "l0")),
        ({"immutable_memtables": 5, "l0_files": 12}, {}, StallVerdict("stopped", "memtable")),
        ({"l0_files": 12, "pending_compaction_bytes": 200}, {}, StallVerdict("stopped", "l0")),
        ({"immutable_memtables": 4, "l0_files": 8}, {}, StallVerdict("delayed", "memtable")),
        ({"l0_files": 8, "pending_compaction_bytes": 100}, {}, StallVerdict("delayed", "l0")),
    ],
)
def test_judge(figures: dict[str, int], options: dict[str, Any], verdict: StallVerdict) -> None:
    assert judge(**(FIGURES | figures), options=replace(OPTIONS, **options)) == verdict


SMALL = st.integers(0, 20)
#: Limits of which most are more than the figures: else a stop by memtables would be all there is.
LIMITS = st.just(0) | st.integers(0, 60)
ANY_FIGURES = st.fixed_dictionaries(dict.fromkeys(FIGURES, SMALL))
ANY_OPTIONS = st.builds(
    lambda **options: replace(OPTIONS, **options),
    max_write_buffer_number=st.integers(1, 30),
    min_write_buffer_number_to_merge=st.integers(1, 8),
    level0_slowdown_writes_trigger=st.just(-1) | st.integers(0, 60),
    level0_stop_writes_trigger=st.integers(0, 60),
    soft_pending_compaction_bytes_limit=LIMITS,
    hard_pending_compaction_bytes_limit=LIMITS,
    disable_auto_compactions=st.booleans(),
)


def test_any_figures_come_to_every_verdict() -> None:
    """Else what must hold for any figures is seen of few lines."""
    seen: Counter[StallVerdict] = Counter()

    @settings(max_examples=500, database=None, derandomize=True, phases=[Phase.generate])
    @given(ANY_FIGURES, ANY_OPTIONS)
    def judged(figures: dict[str, int], options: Any) -> None:
        seen[judge(**figures, options=options)] += 1

    judged()
    assert set(seen) == {NORMAL, *(StallVerdict(held, cause) for cause, held in COUNTS.values())}
    assert min(seen.values()) >= 5, seen


@given(ANY_FIGURES, ANY_OPTIONS, st.sampled_from(list(FIGURES)), SMALL)
def test_more_of_anything_is_never_better(figures: dict[str, int], options: Any, which: str, more: int) -> None:
    before = judge(**figures, options=options)
    after = judge(**(figures | {which: figures[which] + more}), options=options)
    assert RANK[after.condition] >= RANK[before.condition]


@given(ANY_FIGURES, ANY_OPTIONS)
def test_it_names_a_cause_when_and_only_when_it_holds_writes(figures: dict[str, int], options: Any) -> None:
    verdict = judge(**figures, options=options)
    assert (verdict.condition == "normal") == (verdict.cause is None)


@given(ANY_FIGURES, ANY_OPTIONS)
def test_taking_the_cause_away_leaves_something_lower_in_the_rule(figures: dict[str, int], options: Any) -> None:
    """What it names decides: with that figure at 0 and its triggers off, a line further down holds, or none."""
    order = [("stopped", c) for c in ("memtable", "l0", "pending_bytes")]
    order += [("delayed", c) for c in ("memtable", "l0", "pending_bytes")]
    verdict = judge(**figures, options=options)
    if verdict.cause is None:
        return
    gone: dict[str, Any] = {
        "memtable": {"max_write_buffer_number": 1 << 20},
        "l0": {"level0_stop_writes_trigger": 1 << 20, "level0_slowdown_writes_trigger": -1},
        "pending_bytes": {"soft_pending_compaction_bytes_limit": 0, "hard_pending_compaction_bytes_limit": 0},
    }[verdict.cause]
    after = judge(**figures, options=replace(options, **gone))
    assert after.cause != verdict.cause
    if after.cause is not None:
        assert order.index((after.condition, after.cause)) > order.index((verdict.condition, verdict.cause))


def test_counts_are_added_up_by_cause() -> None:
    counts = {name: at for at, name in enumerate(COUNTS, 1)}
    by_cause = (counted(counts, "memtable"), counted(counts, "l0"), counted(counts, "pending_bytes"))
    assert by_cause == (3, 7, 11)
    assert counted({}, "l0") == 0
