"""What a replay finds."""

from dataclasses import dataclass, field
from typing import Literal

from adocd.daemon.change.guards.guard import Note
from adocd.model.decision import Setting
from adocd.model.decision_record import OptionChange

#: What a person and a program are told with every replay.
NOTE = (
    "This is what the law would have decided on what was recorded, not what would have happened: nothing that it "
    "decides changes what it sees next"
)
#: What is said and told apart at most; what comes after is counted.
LISTED = 10_000


@dataclass(slots=True)
class ReplayedDecision:
    """One decision: what was seen, and what it would have set where something else was.

    `time_s` counts from the recording's first snapshot. `same_again` says how often the law decided later what this
    had decided already. `refused` is one of which shaping and safety guards left nothing; `guards` are their words.
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
    """From when on a law would have decided nothing, and why."""

    time_s: float
    why: str


@dataclass(slots=True)
class ReplayResult:
    """What came of a replay, in counts; `seconds` is what the samples cover."""

    samples: int = 0
    seconds: float = 0.0
    sessions: int = 0
    decisions: list[ReplayedDecision] = field(default_factory=list)
    #: Decisions beyond those that are listed.
    not_listed: int = 0
    #: How often it decided what was there, without having decided it.
    unchanged: int = 0
    idle: list[Idle] = field(default_factory=list)
    #: Knobs that the law does without here, and why.
    left_out: dict[str, str] = field(default_factory=dict)
    rocksdb_version: str | None = None
    gaps: int = 0
    missed: int = 0
    #: The policies and the decisions of the time of the recording.
    recorded_policies: list[str] = field(default_factory=list)
    recorded_decisions: set[int] = field(default_factory=set)
