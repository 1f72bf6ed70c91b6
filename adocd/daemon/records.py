"""What the daemon remembers of its decisions."""

from dataclasses import dataclass
from typing import Literal

from adocd.model.decision import Setting

Outcome = Literal[
    "in-flight", "applied", "applied-unpersisted", "unchanged", "rejected", "refused", "failed", "dry-run"
]


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision, why it was taken, what the guards said and what became of it.

    `outcome`: in-flight while RocksDB works on it; applied; applied-unpersisted when RocksDB reported an error but
    the new values read back (it could not write its OPTIONS file); unchanged when all values were there already;
    rejected when RocksDB refused and the old values read back; refused when the guards left nothing; failed when
    the target could not be reached; dry-run when nothing was sent on purpose. `detail` says more in words.
    """

    sequence: int
    monotonic_s: float
    unix_s: float
    controller: str
    settings: tuple[Setting, ...]
    signal: str
    rule: str
    reason: str
    guards: tuple[str, ...]
    outcome: Outcome
    elapsed_s: float | None = None
    detail: str | None = None
