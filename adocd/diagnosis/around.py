"""History of what disks and process did while a target is followed, in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from adocd.model.surroundings import SurroundingsPoint

#: Most points kept. Above that, neighbours in the older half are merged in pairs, so old history gets coarse.
SPELLS_MOST = 2048
#: CPUs count as full from this share on.
FULL_FRACTION = 0.9


@dataclass(frozen=True, slots=True)
class Around:
    """Means over a time in unix seconds; None where nothing was measured.

    Attributes:
        read_bytes_per_s: sum over all disks of the database, like `write_bytes_per_s`.
        busy_fraction: utilisation of the busiest disk, 0 to 1.
        mean_queue: mean number of requests in flight on the busiest disk.
        at_limit_fraction: share of the time in which a disk was recognised as being at its limit.
        cpu_cores: CPU seconds per second that the process used, of the `cpu_limit_cores` that it could use.
        io_pressure_some_fraction: share of the time in which some task waited for I/O.
        cpu_pressure_some_fraction: share of the time in which some task waited for a CPU.
        jobs_write_bytes_per_s: what this database's flushes and compactions wrote; the disks also have the WAL and what
            others write, and each disk of a mirror counts.

    """

    begin_s: float
    end_s: float
    write_bytes_per_s: float | None
    read_bytes_per_s: float | None
    busy_fraction: float | None
    mean_queue: float | None
    at_limit_fraction: float | None
    cpu_cores: float | None
    cpu_limit_cores: float | None
    rss_bytes: float | None
    io_pressure_some_fraction: float | None
    cpu_pressure_some_fraction: float | None
    jobs_write_bytes_per_s: float | None = None

    @property
    def cpu_fraction(self) -> float | None:
        """The share of its available CPUs that the process used, 0 to 1."""
        if self.cpu_cores is None or not self.cpu_limit_cores:
            return None
        return self.cpu_cores / self.cpu_limit_cores


class Surrounded:
    """Remembers points and computes means over any time."""

    def __init__(self) -> None:
        self._spells: list[Around] = []

    def add(
        self, end_s: float, interval_s: float, point: SurroundingsPoint, jobs_write_bytes_per_s: float | None = None
    ) -> None:
        """Add the next point, measured over the `interval_s` before `end_s` (unix seconds)."""
        self._spells.append(
            Around(
                begin_s=end_s - interval_s,
                end_s=end_s,
                write_bytes_per_s=point.write_bytes_per_s,
                read_bytes_per_s=point.read_bytes_per_s,
                busy_fraction=point.busy_fraction,
                mean_queue=point.mean_queue,
                at_limit_fraction=None if point.at_limit is None else float(point.at_limit),
                cpu_cores=point.cpu_cores,
                cpu_limit_cores=point.cpu_limit_cores,
                rss_bytes=point.rss_bytes,
                io_pressure_some_fraction=point.io_pressure_some_fraction,
                cpu_pressure_some_fraction=point.cpu_pressure_some_fraction,
                jobs_write_bytes_per_s=jobs_write_bytes_per_s,
            )
        )
        if len(self._spells) > SPELLS_MOST:
            self._fold()

    def between(self, begin_s: float, end_s: float) -> Around | None:
        """Return the means between two times, each point weighted by its overlap; None where nothing is known."""
        return _mean([(spell, _shared_s(spell, begin_s, end_s)) for spell in self._over(begin_s, end_s)])

    def _over(self, begin_s: float, end_s: float) -> Iterator[Around]:
        # The wall clock can be set back, so the points may be out of order, and the search covers all of them.
        return (spell for spell in self._spells if spell.end_s > begin_s and spell.begin_s < end_s)

    def _fold(self) -> None:
        half = len(self._spells) // 2
        pairs = zip(self._spells[0:half:2], self._spells[1:half:2], strict=False)
        folded = [_mean([(a, a.end_s - a.begin_s), (b, b.end_s - b.begin_s)]) for a, b in pairs]
        rest = self._spells[half - half % 2 :]
        self._spells = [spell for spell in folded if spell is not None] + rest


def _shared_s(spell: Around, begin_s: float, end_s: float) -> float:
    return min(spell.end_s, end_s) - max(spell.begin_s, begin_s)


def _mean(parts: list[tuple[Around, float]]) -> Around | None:
    parts = [(spell, weight_s) for spell, weight_s in parts if weight_s > 0]
    if not parts:
        return None

    def mean(member: str) -> float | None:
        known = [(getattr(spell, member), weight_s) for spell, weight_s in parts]
        known = [(value, weight_s) for value, weight_s in known if value is not None]
        weights_s = sum(weight_s for _, weight_s in known)
        return sum(value * weight_s for value, weight_s in known) / weights_s if known else None

    return Around(
        begin_s=min(spell.begin_s for spell, _ in parts),
        end_s=max(spell.end_s for spell, _ in parts),
        write_bytes_per_s=mean("write_bytes_per_s"),
        read_bytes_per_s=mean("read_bytes_per_s"),
        busy_fraction=mean("busy_fraction"),
        mean_queue=mean("mean_queue"),
        at_limit_fraction=mean("at_limit_fraction"),
        cpu_cores=mean("cpu_cores"),
        cpu_limit_cores=mean("cpu_limit_cores"),
        rss_bytes=mean("rss_bytes"),
        io_pressure_some_fraction=mean("io_pressure_some_fraction"),
        cpu_pressure_some_fraction=mean("cpu_pressure_some_fraction"),
        jobs_write_bytes_per_s=mean("jobs_write_bytes_per_s"),
    )
