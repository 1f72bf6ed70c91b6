"""Groups the decisions that say the same into one row, for the page and the terminal. Pure; works on REST's records."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

#: Outcomes of decisions for which nothing was changed; what is like them may be repeated beside others like it.
CHANGED_NOTHING = ("unchanged", "rejected", "refused", "failed", "dry-run")
_SAME = ("controller", "rule", "settings", "changes", "guards", "outcome")


@dataclass(frozen=True, slots=True)
class Repeated:
    """A decision that was taken once or more: its newest record, how often, and when first and last, in unix seconds.

    `first_sequence` is the number of the first, which stays while the row grows.
    """

    record: Mapping[str, Any]
    times: int
    first_sequence: int
    first_unix_s: float
    last_unix_s: float

    @property
    def often(self) -> str:
        """How often it was taken, with a multiplication sign; empty for once."""
        return f"\N{MULTIPLICATION SIGN}{self.times:,}" if self.times > 1 else ""


def in_rows(records: Iterable[Mapping[str, Any]]) -> list[Repeated]:
    """Group records, oldest first, into rows, the one that was repeated last at the end.

    Two are the same if rule, settings, guards and outcome are, and nothing was changed between them. A dry run's laws
    can take turns, so rows that changed nothing grow beside each other.
    """
    rows: list[Repeated] = []
    for record in records:
        one = _row(record)
        row = _grown_by(record, rows)
        if row is None:
            rows.append(one)
            continue
        rows.remove(row)
        rows.append(
            replace(one, times=row.times + one.times, first_sequence=row.first_sequence, first_unix_s=row.first_unix_s)
        )
    return rows


def _row(record: Mapping[str, Any]) -> Repeated:
    first = record["unix_s"]
    last = record.get("until_unix_s")
    return Repeated(record, record.get("times", 1), record["sequence"], first, first if last is None else last)


def _grown_by(record: Mapping[str, Any], rows: list[Repeated]) -> Repeated | None:
    """Return the row that this record repeats; None if there is none since something else was decided or changed."""
    for row in reversed(rows):
        if all(row.record[name] == record[name] for name in _SAME):
            return row
        decides_the_same = _turns(row.record) & _turns(record) and row.record["rule"] == record["rule"]
        if decides_the_same or row.record["outcome"] not in CHANGED_NOTHING:
            return None
    return None


def _turns(record: Mapping[str, Any]) -> set[tuple[str, str | None]]:
    return {(setting["knob"], setting["column_family"]) for setting in record["settings"]}
