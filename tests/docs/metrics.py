"""The table of docs/metrics.md; `python -m tests.docs.metrics` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from adocd.api.web.metrics import families

_HISTOGRAM = {"bounds_s": [1.0], "counts": [0, 0], "sum_s": 0.0}
_PROCESS = {"cpu_s": 0.0, "resident_bytes": 0, "open_files": 0, "started_unix_s": 0.0}
#: A daemon without targets, of which all is known.
_VITALS = {
    "version": "1",
    "python_version": "3",
    "tick_s": 1.0,
    "process": _PROCESS,
    "tick_duration": _HISTOGRAM,
    "tick_lateness": _HISTOGRAM,
    "garbage_collection": _HISTOGRAM,
    "socket_problems": 0,
    "journal_writable": True,
    "journal_lost_decisions": 0,
    "journal_unsaved": 0,
    "configured": True,
    "configured_unix_s": 0.0,
    "event_clients": 0,
    "overrides": [],
    "targets": [],
}


def rows() -> Iterator[str]:
    """Write one row for each metric."""
    yield "| metric | type | labels | is |"
    yield "|---|---|---|---|"
    for family in families(_VITALS):
        yield f"| `{_name(family)}` | {family.type} | {_labels(family)} | {family.documentation} |"


def _name(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


def _labels(family: Metric) -> str:
    return ", ".join(family._labelnames)  # type: ignore[attr-defined]  # prometheus_client shows it nowhere else


if __name__ == "__main__":
    print("\n".join(rows()))
