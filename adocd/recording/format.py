"""The format of a recording: one JSON object per line, the first one a header (docs/replay.md).

Every line except the first has a `kind`. What seldom changes has separate, numbered lines, and later snapshots refer to
the number. So a snapshot whose options or session were in a damaged line is known to be useless.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from adocd.model.capabilities import Capabilities
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.snapshot import OptionValues, Snapshot

#: The header's member `format`, which identifies a recording.
FORMAT = "adocd recording"
#: Increases when an older reader would misunderstand a file; new members and new kinds of lines do not need that.
VERSION = 1
_YEAR_9999 = 2.5e11

State = Literal["attached", "silent", "closed"]


class NotReplayable(Exception):
    """A file cannot be replayed or written; the message is one sentence that names it."""


class NoRecording(NotReplayable):
    """There is no such file."""


@dataclass(frozen=True, slots=True)
class RecordingHeader:
    """The recorded target and the time. `began_unix_s` is virtual for a simulation; `tick_s` is between two snapshots.

    `device_bytes_per_s` is a simulated device's write bandwidth. It is None if unknown, as for every live database: the
    highest rate ever written shows only the highest rate ever requested.
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
    """One open of the database: what can be changed and measured, and the originals that a law is shown.

    `memory_budget_bytes` and `memory_limit_bytes` are for the guard that keeps memtables within them; None: no limit.
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
    """The policy at that time, and why it was paused; None if it was not."""

    policy: Policy
    paused: str | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """Snapshots that the daemon took but the recording lacks; None if their number is unknown."""

    missed: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """One snapshot, the wall clock time of its recording, and the open that it belongs to."""

    snapshot: Snapshot
    unix_s: float
    about: About


@dataclass(frozen=True, slots=True)
class Seen:
    """What the daemon gives a recorder about its last look at a target.

    `look` counts the daemon's looks. `about` and `snapshot` are left out if the recorder has seen this look, or if the
    database is closed. `decisions` are the last ones, oldest first.
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
