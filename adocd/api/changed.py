"""Which options of a database, as REST shows it, differ from what its owner set; for adocctl and the page."""

from dataclasses import dataclass
from typing import Any

from adocd.model.threads import ThreadsBy
from adocd.model.values import RATE_LIMITER_WORD, THREAD_POOL_PREFIX

#: The scope of what a program's databases share: its rate limiter and its thread pools.
PROCESS = "process"


@dataclass(frozen=True, slots=True)
class Changed:
    """An option whose value differs from what its owner set; `scope`: database, process, or a column family's name."""

    scope: str
    option: str
    now: str
    original: str


def changed(detail: dict[str, Any]) -> list[Changed] | None:
    """List the options that differ from their originals; None where that is not known, as of a closed database."""
    now, then = detail["options"], detail["originals"]
    if now is None or then is None:
        return None
    scopes = [("database", now["database"], then["database"])]
    scopes += [(name, now["column_families"].get(name, {}), old) for name, old in then["column_families"].items()]
    scopes.append((PROCESS, _shared(now, detail), _shared(then, detail)))
    return [
        Changed(scope, option, current[option], old)
        for scope, current, originals in scopes
        for option, old in originals.items()
        if option in current and current[option] != old
    ]


def _shared(values: dict[str, Any], detail: dict[str, Any]) -> dict[str, str]:
    """Return the rate limiter's rate, and the pools' threads where adocd turns them: RocksDB makes them grow, too."""
    limit = values.get("rate_limiter_bytes_per_s")
    found = {} if limit is None else {RATE_LIMITER_WORD: str(limit)}
    if (detail.get("sample") or {}).get("threads_by") == ThreadsBy.POOLS:
        found |= {f"{THREAD_POOL_PREFIX}{pool}": str(size) for pool, size in values["thread_pools"].items()}
    return found
