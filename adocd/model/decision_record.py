"""The daemon's record of a decision and its outcome."""

from dataclasses import dataclass
from typing import Literal

from adocd.model.decision import Setting
from adocd.model.values import OptionName

Outcome = Literal[
    "in-flight",
    "applied",
    "applied-unpersisted",
    "unchanged",
    "rejected",
    "reverted-by-engine",
    "changed-by-someone-else",
    "refused",
    "failed",
    "dry-run",
]


@dataclass(frozen=True, slots=True)
class OptionChange:
    """One option's old and intended new value."""

    option: OptionName
    before: str
    value: str

    def __str__(self) -> str:
        return f"{self.option} {self.before} -> {self.value}"


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision, why it was taken, what the guards said, and its outcome.

    `outcome` is in-flight while RocksDB works on it; applied; applied-unpersisted when RocksDB reported an error but
    the new values read back (it could not write its OPTIONS file); unchanged when all values were set already; rejected
    when RocksDB refused and the old values read back; reverted-by-engine when the new values were set and later the old
    ones were back; changed-by-someone-else when they were set and later replaced by other ones; refused when the guards
    left nothing, or the journal could not be written; failed when the target could not be reached, or the law itself
    failed; dry-run when nothing was sent on purpose. `detail` gives more detail in words. `controller` is the law in
    force, even if an operator or a guard decided; `rule` says who did. Where nothing was sent, the same decision again
    is no new record: `times` counts it, and `last_unix_s` is when it was taken last, None if only once.
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
    changes: tuple[OptionChange, ...] = ()
    times: int = 1
    last_unix_s: float | None = None
