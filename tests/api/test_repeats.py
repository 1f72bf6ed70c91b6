"""Decisions that say the same are one row, until something changes."""

from __future__ import annotations

from typing import Any

from adocd.api.repeats import in_rows


def record(sequence: int, rule: str = "adoc.level0", value: int = 4, outcome: str = "dry-run", **more: Any) -> Any:
    setting = {"knob": "background_jobs" if rule == "adoc.level0" else "batch_size", "value": value}
    return {
        "sequence": sequence, "unix_s": float(sequence), "controller": "adoc", "rule": rule, "outcome": outcome,
        "settings": [setting | {"column_family": None}], "changes": [], "guards": [], "signal": f"seen {sequence}",
    } | more  # fmt: skip


def told(*records: Any) -> list[tuple[int, int, float]]:
    return [(row.first_sequence, row.times, row.last_unix_s) for row in in_rows(records)]


def test_repeats_are_one_row_also_where_two_rules_take_turns() -> None:
    memory = "adoc.memory"
    assert told(record(1), record(2, memory), record(3), record(4, memory), record(5)) == [(2, 2, 4.0), (1, 3, 5.0)]
    assert in_rows([record(1), record(2)])[0].record["signal"] == "seen 2", "the newest is what is shown"


def test_another_value_an_outcome_or_a_change_between_begins_a_row() -> None:
    assert told(record(1), record(2, value=6), record(3)) == [(1, 1, 1.0), (2, 1, 2.0), (3, 1, 3.0)]
    assert told(record(1), record(2, outcome="refused", guards=["step: no"]), record(3)) == [
        (1, 1, 1.0), (2, 1, 2.0), (3, 1, 3.0),
    ]  # fmt: skip
    assert told(record(1), record(2, "adoc.memory", outcome="applied"), record(3)) == [
        (1, 1, 1.0), (2, 1, 2.0), (3, 1, 3.0),
    ]  # fmt: skip


def test_what_the_daemon_has_counted_is_added_up() -> None:
    assert told(record(1, times=38, until_unix_s=90.0)) == [(1, 38, 90.0)]
    assert told(record(1, times=2, until_unix_s=2.5), record(3, times=4, until_unix_s=9.0)) == [(1, 6, 9.0)]
    assert told() == []
