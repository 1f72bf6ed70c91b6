"""The parts of REST's diagnosis in words, without times of day: for `adocctl explain` and the page."""

from typing import Any

from adocd.model.in_words import size, span

#: RocksDB's causes of write stalls (adocd.model.stall.Cause) in words.
CAUSES = {"memtable": "memtables", "l0": "level-0 files", "pending_bytes": "pending compaction", "other": "other"}
_KINDS = {"stopped": "stopped", "delayed": "slowed"}
#: Said while the daemon is not through with a LOG, which takes about a second for 4 MiB.
READING = "Its LOG is still being read, so the newest of it is missing here."


def held(d: dict[str, Any]) -> str:
    """Say for how long writes were slowed or stopped, of the time that is covered."""
    length_s = d["end"] - d["begin"]
    if not d["stalls"]:
        return f"No line tells of a stall in {span(length_s)}"
    share = f", {d['stalled_s'] / length_s:.0%} of the time" if length_s > 0 else ""
    return f"Writes were slowed or stopped for {span(d['stalled_s'])} of {span(length_s)}{share}"


def stall(found: dict[str, Any]) -> str:
    """Say how long a stall lasted, what held writes, and by which figure."""
    open_end = "" if found["ended"] else ", and its end is not told"
    return (
        f"{span(found['stalled_s'])} {_KINDS[found['kind']]} because of {CAUSES[found['cause']]} in "
        f"{found['column_family']}: {_figure(found)}{open_end}"
    )


def led(before: dict[str, Any]) -> str:
    """Say what ended in the time before a stall, and how the column family stood when it began."""
    l0_files = "unknown" if before["l0_files"] is None else before["l0_files"]
    return (
        f"in the {before['seconds']} s before: {_count(before['flushes'], 'flush', 'es')} "
        f"({size(before['flushed_bytes'])}), {_count(before['compactions'], 'compaction')} "
        f"({size(before['compacted_bytes'])} written); then "
        f"{_count(before['compactions_running'], 'compaction')} running, {l0_files} level-0 files, "
        f"{size(before['pending_compaction_bytes'])} pending"
    )


def around(measured: dict[str, Any] | None) -> str:
    """Say what disks and process did during a stall; "" where nobody could look."""
    if measured is None:
        return ""
    parts = []
    if measured["write_bytes_per_s"] is not None:
        disks = f"disks wrote {size(measured['write_bytes_per_s'])}/s and read {size(measured['read_bytes_per_s'])}/s"
        queue = f", {measured['busy_fraction']:.0%} busy, queue {measured['mean_queue']:.1f}"
        at_limit = measured["at_limit_fraction"]
        parts.append(disks + queue + (f", at their limit {at_limit:.0%} of it" if at_limit else ""))
    if measured["cpu_cores"] is not None:
        most = measured["cpu_limit_cores"]
        of = " CPUs" if most is None else f" of {most:.3g} {'CPU' if most == 1 else 'CPUs'}"
        parts.append(f"the process used {measured['cpu_cores']:.2g}{of}")
    if measured["cpu_pressure_some_fraction"] is not None:
        parts.append(f"some task waited for a CPU {measured['cpu_pressure_some_fraction']:.0%} of it")
    if measured["io_pressure_some_fraction"] is not None:
        parts.append(f"some task waited for I/O {measured['io_pressure_some_fraction']:.0%} of it")
    return "then " + "; ".join(parts) if parts else "nothing was measured of disks and process then"


def _figure(found: dict[str, Any]) -> str:
    said, figure = found["said"], found["said"]["figure"]
    if figure is None:
        words = "the line gives no figure"
    elif found["cause"] == "memtable":
        words = f"{figure} memtables to flush" + (f" of {said['limit']}" if said["limit"] is not None else "")
    elif found["cause"] == "l0":
        words = f"{figure} level-0 files"
    else:
        words = f"{size(figure)} pending"
    rate = said["rate_bytes_per_s"]
    return words if rate is None else f"{words}, down to {size(rate)}/s"


def _count(number: int, what: str, plural: str = "s") -> str:
    return f"{number} {what}{'' if number == 1 else plural}"
