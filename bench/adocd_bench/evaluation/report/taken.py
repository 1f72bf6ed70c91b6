"""What the device took in the measured phase, beside its cap: what RocksDB wrote, and what the device itself counted.

What RocksDB wrote is by its own counters: WAL, flush and compaction. The log goes into the page cache first, and what
is deleted before the kernel writes it back never reaches the device; so RocksDB may write more than the cap although
nothing escapes it. What reached the device is the device's own count, exact on a device of the run's own.
"""

from collections.abc import Callable
from dataclasses import dataclass

from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.accounting import own_device_bytes
from adocd_bench.evaluation.report.comparison import cell
from adocd_bench.evaluation.report.document import Paragraph, Part, Table
from adocd_bench.evaluation.report.summary import Block, SchemeSummary
from adocd_bench.host.device import parse_profile

#: The kernel grants a cap in slices of a tenth of a second, and counts a request in the second in which it ends. On
#: devices of the run's own, where nothing can escape, up to 1.32 times the cap was seen in a second.
OVER_PHASE_MOST, OVER_SECOND_MOST = 1.02, 1.35


@dataclass(frozen=True, slots=True)
class Taken:
    """Bytes per second over the measured phase; None for what was not counted.

    Attributes:
        written: WAL, flush and compaction together.
        cap: the profile's, None without one.
        device: what the device counted, of everybody who writes to it.
        device_most: the same in the second that had most.
        exact: nobody else could write to the device.

    """

    wal: float | None
    flush: float | None
    compaction: float | None
    written: float | None
    cap: float | None
    device: float | None
    device_most: float | None
    exact: bool

    @property
    def under_cap(self) -> bool | None:
        """Whether all that reached the device was under the cap; None if that is not known, or there is none."""
        if self.cap is None or self.device is None or not self.exact:
            return None
        most = self.device if self.device_most is None else self.device_most
        return self.device <= OVER_PHASE_MOST * self.cap and most <= OVER_SECOND_MOST * self.cap


def taken(run: RawRun) -> Taken:
    """Work it out for a run."""
    moved, device = run.at_end, run.device
    return Taken(
        wal=_per_s(moved.wal_bytes, run),
        flush=_per_s(moved.flush_written_bytes, run),
        compaction=_per_s(moved.compaction_written_bytes, run),
        written=_per_s(own_device_bytes(moved), run),
        cap=parse_profile(run.profile).write_bytes_per_s,
        device=None if device is None else _per_s(device.written_bytes, run),
        device_most=None if device is None else device.most_written_bytes_per_s,
        exact=device is not None and device.dedicated,
    )


def taken_parts(block: Block, command: str) -> list[Part]:
    """Write the table of a block, and whether everything was under the cap."""
    columns: dict[str, Callable[[Taken], float | None]] = {
        "WAL": lambda each: each.wal,
        "flush": lambda each: each.flush,
        "compaction": lambda each: each.compaction,
        "sum": lambda each: each.written,
        "the device counted": lambda each: each.device,
        "in its highest second": lambda each: each.device_most,
    }
    cap = parse_profile(block.profile).write_bytes_per_s
    beside = "none" if cap is None else words.rate(cap)
    rows = [(scheme.name, *(_cell(scheme, of) for of in columns.values()), beside) for scheme in block.schemes]
    title = "Written in the measured phase, per second"
    return [Table(title, ("scheme", *columns, "cap"), tuple(rows), command=command), Paragraph(_sentence(block))]


def _sentence(block: Block) -> str:
    """Say whether everything was under the cap."""
    runs = [judged.run for scheme in block.schemes for judged in scheme.used]
    found = [taken(run) for run in runs]
    cap = found[0].cap
    if cap is None:
        return "There was no cap; what the device counted is what everybody wrote to it."
    written = max((each.written or 0.0 for each in found), default=0.0)
    if any(run.wal_outside_cap for run in runs):
        return (
            f"Not everything was under the cap: the write-ahead log was outside, and RocksDB wrote up to "
            f"{words.rate(written)} in all where the cap is {words.rate(cap)}."
        )
    known = [each for each in found if each.under_cap is not None]
    if len(known) < len(found):
        return "Whether everything was under the cap is not known: what the device counted was not recorded."
    device, most = (max(getattr(each, name) or 0.0 for each in known) for name in ("device", "device_most"))
    counted = f"at most {words.rate(device)} over a run, and {words.rate(most)} in its highest second"
    if most > cap:
        counted += " (a request counts in the second in which it ends)"
    if all(each.under_cap for each in known):
        absorbed = ""
        if written > cap:
            absorbed = (
                f" RocksDB itself wrote up to {words.rate(written)}: the difference is log that was deleted while it "
                "was in the page cache, or was still there at the end."
            )
        return f"All that reached the device, the write-ahead log included, was under the cap: {counted}.{absorbed}"
    return f"Not everything that reached the device was under the cap of {words.rate(cap)}: {counted}."


def _cell(scheme: SchemeSummary, of: Callable[[Taken], float | None]) -> str:
    values = [of(taken(judged.run)) for judged in scheme.used]
    known = [value for value in values if value is not None]
    return words.cell("bytes_per_s", cell(known) if len(known) == len(values) else None, scheme.marked)


def _per_s(count: int | None, run: RawRun) -> float | None:
    return None if count is None or run.measured_s <= 0 else count / run.measured_s
