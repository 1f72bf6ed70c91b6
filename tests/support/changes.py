"""Short ways to write the protocol's changes and restore steps."""

from __future__ import annotations

from typing import Any

Json = Any


def family(column_family: str = "default", **options: str) -> Json:
    """Write a change of a column family's options."""
    return {"scope": "column_family", "column_family": column_family, "options": options}


def database(**options: str) -> Json:
    """Write a change of database-wide options."""
    return {"scope": "database", "options": options}


def limiter(bytes_per_s: int) -> Json:
    """Write a change of the rate limiter."""
    return {"scope": "rate_limiter", "bytes_per_s": bytes_per_s}


def threads(pool: str, count: int) -> Json:
    """Write a change of a thread pool."""
    return {"scope": "thread_pool", "pool": pool, "threads": count}


def back(change: Json, *, when: tuple[str, str, int] | None = None) -> Json:
    """Write a step of a restore plan; `when` is (column family, property, below)."""
    if when is None:
        return {"change": change}
    column_family, name, below = when
    return {"when": {"column_family": column_family, "property": name, "below": below}, "change": change}
