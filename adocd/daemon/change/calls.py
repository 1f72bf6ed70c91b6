"""How values become the fewest calls. Pure."""

from adocd.model.change import Change, ColumnFamilyChange, DatabaseChange, RateLimiterChange, ThreadPoolChange
from adocd.model.values import Values


def grouped(values: Values, *, limiter_first: bool = False, database_first: bool = False) -> tuple[Change, ...]:
    """Group values into calls in sending order, one per column family."""
    families: dict[str, dict[str, str]] = {}
    database: dict[str, str] = {}
    pools: list[Change] = []
    limiter: list[Change] = []
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
                limiter.append(RateLimiterChange(int(value)))
    calls: list[Change] = [ColumnFamilyChange(name, options) for name, options in families.items()]
    whole: list[Change] = [DatabaseChange(database)] if database else []
    first, last = (limiter, []) if limiter_first else ([], limiter)
    return (*first, *whole, *calls, *pools, *last) if database_first else (*first, *calls, *pools, *last, *whole)
