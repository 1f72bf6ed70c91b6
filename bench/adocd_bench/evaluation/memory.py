"""How much memory a scheme's memtables may take, and whether another scheme of its block takes as much.

RocksDB holds up to max_write_buffer_number memtables of write_buffer_size; a law may raise either. The block cache is
the same in all schemes. A figure of a scheme with more memory than the baseline's is held against a twin: the same law
within the baseline's memory, or a static scheme with exactly the same memory.
"""

import math
from collections.abc import Iterable, Mapping

from adocd.controllers.adoc import AdocBounds
from adocd.controllers.tide.parameters import TideParameters
from adocd.controllers.toggle import ToggleParameters
from adocd_bench.evaluation.raw import SchemeUsed

#: Laws of which it is known whether they raise either; `manual` sets what its parameters say.
_KNOWN = frozenset(
    {
        "fixed",
        "manual",
        "adoc",
        "adoc-released",
        "toggle",
        "mimd",
        "silk",
        "stability",
        "spring-and-gear",
        "speedb",
        "tikv",
        "cockroach",
        "tide",
    }
)
_MANUAL_MEMORY = frozenset({"batch_size", "memtable_number"})
#: Two sizes are the same within this share: at a scale, memtables are rounded one by one, and a budget as a whole.
_SAME = 1e-3
#: What a scheme is within the baseline's memory.
_WITHIN: Mapping[str, str] = {
    "adoc": "adoc-threads",
    "toggle": "toggle-two-memtables",
    "grid-best": "grid-best-within-memory",
}
#: A block that compares throughput needs it: what patience alone finds in the same memory.
WITHIN_GRID = "grid-best-within-memory"


def most_bytes(used: SchemeUsed) -> int | None:
    """Give the most bytes in memtables, from what was recorded; None where that is not known."""
    try:
        size, number = int(used.options["write_buffer_size"]), int(used.options["max_write_buffer_number"])
    except (KeyError, ValueError):
        return None
    given = dict(used.parameters)
    match used.policy:
        case "adoc" | "adoc-released" if given.get("tune_batch", True):
            size = max(size, int(given.get("batch_max_bytes", AdocBounds.model_fields["batch_max_bytes"].default)))
        case "toggle" if not given.get("residual", False):
            number = max(number, int(given.get("memtables", ToggleParameters.model_fields["memtables"].default)))
        case "tide":
            budget = int(given.get("memory_max_bytes", TideParameters.model_fields["memory_max_bytes"].default))
            return max(size * number, budget)
        case "manual" if _MANUAL_MEMORY & given.keys():
            return None
        case policy if policy not in _KNOWN:
            return None
    return size * number


def twin(used: SchemeUsed, baseline: SchemeUsed, block: Iterable[SchemeUsed]) -> str | None:
    """Name the scheme of the block that makes the memory equal.

    Empty for one that needs none: it may take no more than the baseline, or is there as a twin. None where its twin is
    missing.
    """
    static = f"{baseline.name}-with-"
    if used.name.startswith(static):
        return ""
    mine, budget = most_bytes(used), most_bytes(baseline)
    if mine is not None and budget is not None and mine <= budget:
        return ""
    others = [each for each in block if each.name != used.name]
    within = _WITHIN.get(used.name)
    for each in others:
        takes = most_bytes(each)
        if each.name == within and takes is not None and budget is not None and takes <= budget:
            return each.name
    # Another law's, or a grid's, would not say what the memory alone brings.
    static_ones = (each for each in others if each.policy == "fixed" and each.name.startswith(static))
    twins = [each for each in static_ones if _is_as_much(most_bytes(each), mine)]
    # One with the same rate limiter comes first: what the limiter alone brings is not the law's, either.
    twins.sort(key=lambda each: each.rate_limiter_bytes_per_s != used.rate_limiter_bytes_per_s)
    return twins[0].name if twins else None


def _is_as_much(size: int | None, other: int | None) -> bool:
    return size is not None and other is not None and math.isclose(size, other, rel_tol=_SAME)
