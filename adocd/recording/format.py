"""What a recording has: one JSON object a line, the first of them a header (docs/replay.md).

Every line but the first has a `kind`. What changes seldom stands in lines of its own, with a number that the snapshots
after it name, so that a snapshot whose options or session were in a damaged line is known to be of no use.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from adocd.model.capabilities import Capabilities
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.snapshot import OptionValues, Snapshot

#: The header's member `format`, by which a recording is known.
FORMAT = "adocd recording"
#: Grows when a reader of before would misunderstand a file; new members and new kinds of lines do not need it.
VERSION = 1
_YEAR_9999 = 2.5e11

State = Literal["attached", "silent", "closed"]


class NotReplayable(Exception):
    """A file cannot be replayed, or not written; one sentence that names it."""


@dataclass(frozen=True, slots=True)
class RecordingHeader:
    """Which target, and when. `began_unix_s` is virtual where it was simulated; `tick_s` is between two snapshots.

    `device_bytes_per_s` is what a simulated device can write; None where nobody knows, as of every live database: the
    most that was ever written is no more than what was ever asked for.
    """

    target: str
    path: str
    adocd: str
    began_unix_s: Annotated[float, Field(ge=0, le=_YEAR_9999)]
    tick_s: float
    format: str = FORMAT
    version: int = VERSION
    device_bytes_per_s: Annotated[int, Field(ge=1)] | None = None


@dataclass(frozen=True, slots=True)
class About:
    """One open of the database: what can be changed and seen of it, and what a law is told of its originals.

    `memory_budget_bytes` and `memory_limit_bytes` are for the guard that keeps memtables within them; None: no such.
    """

    session: str
    rocksdb_version: str
    agent: str
    capabilities: Capabilities
    column_families: tuple[str, ...]
    originals: OptionValues
    memory_budget_bytes: int | None = None
    memory_limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """The policy of that time, and why it was paused; None where it was not."""

    policy: Policy
    paused: str | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """Snapshots that the daemon took and the recording has not; None where nobody knows how many."""

    missed: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """One snapshot, when it was recorded by the wall clock, and the open that it is of."""

    snapshot: Snapshot
    unix_s: float
    about: About


@dataclass(frozen=True, slots=True)
class Seen:
    """What the daemon tells a recorder of its last look at a target.

    `look` counts the daemon's looks. Where the recorder has seen this one, `about` and `snapshot` are left out, as
    they are where the database is closed. `decisions` are the last ones, oldest first.
    """

    look: int
    tick_s: float
    path: str
    state: State
    rule: Rule
    about: About | None = None
    snapshot: Snapshot | None = None
    decisions: tuple[DecisionRecord, ...] = field(default=())


HEADER = TypeAdapter(RecordingHeader)
ABOUT = TypeAdapter(About)
RULE = TypeAdapter(Rule)
GAP = TypeAdapter(Gap)
SNAPSHOT = TypeAdapter(Snapshot)
OPTIONS = TypeAdapter(OptionValues)
DECISION = TypeAdapter(DecisionRecord)
SEEN = TypeAdapter(Seen)
