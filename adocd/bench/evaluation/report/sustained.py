"""The highest rates that last, as `adocd bench sustainable` finds them by bisection; a file a block and scheme."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from adocd.bench.errors import BadOption

#: Where they are, in the directory of the runs.
SUSTAINABLE = "sustainable"


@dataclass(frozen=True, slots=True)
class Tried:
    """One rate that was tried: operations/s offered and done, the 99th percentile from the intended start."""

    offered_per_s: float
    done_per_s: float
    p99_total_us: int
    lasts: bool


@dataclass(frozen=True, slots=True)
class Search:
    """A bisection: below the baseline's maximum in a closed loop, rate after rate."""

    seconds: int
    scale: int
    maximum_per_s: float
    tested: tuple[Tried, ...]

    @property
    def lasts_per_s(self) -> float:
        """The highest rate that lasted; 0 where none did."""
        return max((each.offered_per_s for each in self.tested if each.lasts), default=0.0)

    @property
    def share(self) -> float:
        """What lasts, of the maximum."""
        return self.lasts_per_s / self.maximum_per_s if self.maximum_per_s > 0 else 0.0


_SEARCH = TypeAdapter(Search)


def searches_in(directory: Path) -> dict[str, Search]:
    """Read all of them, by block and scheme. Raises BadOption where one is broken."""
    return {file.stem: _read(file) for file in sorted((directory / SUSTAINABLE).glob("*.json"))}


def _read(file: Path) -> Search:
    try:
        return _SEARCH.validate_json(file.read_bytes())
    except OSError as error:
        raise BadOption(f"{file} cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise BadOption(f"{file} is no result of adocd bench sustainable ({error.errors()[0]['msg']})") from None
