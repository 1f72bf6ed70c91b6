"""The tables of docs/safety.md that the code decides; `python -m tests.docs.safety` prints them."""

from __future__ import annotations

from adocd.daemon.change.guards.bounds import out_of_bounds
from adocd.model.options import OPTIONS, OptionFacts
from adocd.model.values import RATE_LIMITER, RATE_LIMITER_WORD, THREAD_POOL_PREFIX, of_pool

_BITS = 63
_POWERS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def option_rows() -> list[str]:
    """Write one row for each option that can be pinned."""
    live = [facts for facts in OPTIONS.values() if facts.live]
    rows = [
        f"| `{facts.name}` | {'column family' if facts.scope == 'column_family' else 'database'} | {_bounds(facts)} |"
        for facts in live
    ]
    return [
        "| option | of | adocd sends |",
        "|---|---|---|",
        *rows,
        f"| `{RATE_LIMITER_WORD}` | database | {_LIMITER} |",
        f"| `{THREAD_POOL_PREFIX}low`, `{THREAD_POOL_PREFIX}high`, `{THREAD_POOL_PREFIX}bottom` | process | {_POOL} |",
    ]


def _bounds(facts: OptionFacts) -> str:
    if facts.kind == "bool":
        return "true or false"
    if facts.unit.startswith("bytes"):
        least, unit = _size(facts.minimum), "/s" if facts.unit == "bytes/s" else ""
        range_ = f"{least}{unit} or more" if facts.maximum >> _BITS - 1 else f"{least} to {_size(facts.maximum)}"
    else:
        range_ = f"{facts.minimum} to {facts.maximum} {facts.unit}"
    if facts.zero is None:
        return range_
    return f"{range_}; 0: {facts.zero}" if facts.minimum <= 0 else f"{range_}; never 0: {facts.zero}"


def _size(value: int) -> str:
    for power, unit in _POWERS:
        if value and value % power == 0:
            return f"{value // power} {unit}"
    return str(value)


def _pool_bounds() -> str:
    most = max(n for n in range(1, 1000) if out_of_bounds(of_pool("low"), str(n)) is None)
    return f"1 to {most} threads"


def _limiter_bounds() -> str:
    least = 1 << 20
    if out_of_bounds(RATE_LIMITER, str(least)) or not out_of_bounds(RATE_LIMITER, str(least - 1)):
        raise AssertionError("the rate limiter's floor is another one: say so in docs/safety.md")
    return "1 MiB/s or more, where the database was opened with a rate limiter"


_POOL = _pool_bounds()
_LIMITER = _limiter_bounds()

if __name__ == "__main__":
    print("\n".join(option_rows()))
