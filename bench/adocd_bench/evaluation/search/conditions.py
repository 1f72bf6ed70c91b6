"""The conditions of a kept search: it goes on under the same ones, or not at all."""

from dataclasses import dataclass
from pathlib import Path

from adocd_bench.errors import BadArgument

_GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all runs of a search have in common; `device_bytes` is the size of the device that each of them has."""

    seconds: int
    scale: int
    seed: int
    at_once: int
    device_bytes: int

    def refuse_others(self, file: Path, wanted: "Conditions") -> None:
        """Raise BadArgument where the search kept in `file` was made under other conditions than are wanted now."""
        before, now = self._words(), wanted._words()
        apart = [f"{name} {before[name]}, not {now[name]}" for name in before if before[name] != now[name]]
        if apart:
            raise BadArgument(
                f"{file} was made with {', and '.join(apart)}: give the same options to go on, or choose another --out"
            )

    def _words(self) -> dict[str, str]:
        return {
            "--seconds": str(self.seconds),
            "--scale": str(self.scale),
            "--seed": str(self.seed),
            "--at-once": str(self.at_once),
            "a device of": f"{self.device_bytes / _GB:.2f} GB",
        }
