"""How values become the fewest calls. Pure."""

from typing import Literal

from adocd.model.change import Change, ColumnFamilyChange, DatabaseChange, RateLimiterChange, ThreadPoolChange
from adocd.model.values import Values


def grouped(
    values: Values, *, limiter: Literal["first", "middle", "last"] = "middle", database_first: bool = False
) -> tuple[Change, ...]:
    """Group values into calls in sending order, one per column family."""
    families: dict[str, dict[str, str]] = {}
    database: dict[str, str] = {}
    pools: list[Change] = []
    rate: list[Change] = []
    for option in sorted(values, key=lambda o: (o.name or "", o.option)):
        value = values[option]
        match option.scope:
            case "column_family":
                families.setdefault(option.name or "", {})[option.option] = value
            case "database":
                database[option.option] = value
            case "thread_pool":
                pools.append(ThreadPoolChange(option.name or "", int(value)))
            case "rate_limiter":
                rate.append(RateLimiterChange(int(value)))
    calls: list[Change] = [ColumnFamilyChange(name, options) for name, options in families.items()]
    whole: list[Change] = [DatabaseChange(database)] if database else []
    first, middle, last = [rate if limiter == place else [] for place in ("first", "middle", "last")]
    rest = (*whole, *calls, *pools, *middle) if database_first else (*calls, *pools, *middle, *whole)
    return (*first, *rest, *last)
