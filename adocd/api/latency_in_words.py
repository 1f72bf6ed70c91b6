"""Write latencies in words, from a sample as REST shows it."""

from typing import Any

from adocd.model.in_words import time

_FIGURES = (("p50", "p50_s"), ("p99", "p99_s"), ("p99.9", "p99_9_s"), ("worst", "max_s"))


def write_latency(latency: dict[str, Any] | None) -> str:
    """Return `p50 6.5 µs, p99 15 µs, p99.9 73 µs, worst 11.7 ms`, or why that is not known."""
    if latency is None:
        return "not measured by this daemon"
    if latency["p50_s"] is not None:
        return ", ".join(f"{name} {time(latency[member])}" for name, member in _FIGURES)
    if latency["mean_s"] is not None:
        return f"mean {time(latency['mean_s'])}; {latency['why']}"
    return str(latency["why"] or "no write ended in this window")
