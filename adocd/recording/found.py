"""The findings of a replay."""

from dataclasses import dataclass, field
from typing import Literal

from adocd.daemon.change.guards.guard import Note
from adocd.model.decision import Setting
from adocd.model.decision_record import OptionChange

#: The caveat that comes with every replay, for persons and programs.
NOTE = (
    "This is what the law would have decided on what was recorded, not what would have happened: nothing that it "
    "decides changes what it sees next"
)
#: Most findings listed separately; further ones are only counted.
LISTED = 10_000


@dataclass(slots=True)
class ReplayedDecision:
    """One decision: its signal, and the options that it would have changed.

    `time_s` counts from the recording's first snapshot. `same_again` counts how often the law repeated this decision
    later. A decision is `refused` if shaping and safety guards left nothing of it; `guards` has their sentences.
    """

    time_s: float
    monotonic_s: float
    unix_s: float
    rule: str
    signal: str
    reason: str
    settings: tuple[Setting, ...]
    changes: tuple[OptionChange, ...]
    guards: tuple[Note, ...]
    outcome: Literal["would set", "refused"]
    same_again: int = 0


@dataclass(frozen=True, slots=True)
class Idle:
    """The time from which a law would have decided nothing, and why."""

    time_s: float
    why: str


@dataclass(slots=True)
class ReplayResult:
    """The result of a replay, in counts; `seconds` is the time that the samples cover."""

    samples: int = 0
    seconds: float = 0.0
    sessions: int = 0
    decisions: list[ReplayedDecision] = field(default_factory=list)
    #: Number of decisions beyond the listed ones.
    not_listed: int = 0
    #: How often it decided values that were already in force, but not by its own decision.
    unchanged: int = 0
    idle: list[Idle] = field(default_factory=list)
    #: Knobs that the law cannot turn here and does without, and why.
    left_out: dict[str, str] = field(default_factory=dict)
    rocksdb_version: str | None = None
    gaps: int = 0
    missed: int = 0
    #: The policies in force, and the decisions made, during the recording.
    recorded_policies: list[str] = field(default_factory=list)
    recorded_decisions: set[int] = field(default_factory=set)
