"""One target's status at one moment, as an immutable value."""

from dataclasses import dataclass
from typing import Literal

from adocd.diagnosis.stalls import StallNow
from adocd.model.database import DatabaseDetail, Info
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import Lease, OptionValues, Snapshot

State = Literal["attached", "silent", "closed"]


@dataclass(frozen=True, slots=True)
class Status:
    """One target.

    Attributes:
        sentence: what the last cycle saw and did.
        looks: number of snapshots since the daemon started; a gap between two readings shows how many were missed.
        tick_s: seconds between two snapshots when nothing delays them.
        policy: the policy in force.
        paused: why the law decides nothing, in one sentence; None when it may decide.
        fell_back: why the chosen policy is no longer in force, in one sentence; None while it is.
        stall: the stall in progress, even while the agent is silent.
        around: what disks and process are doing, in one sentence; None if that cannot be observed.
        memory_limit_bytes: the cgroup's memory limit for the database's process; None without one.
        info, detail: of the current or last process and open; None before the first.
        originals: the values that a restore sets.
        snapshot, sample: the last ones; None while the database is closed.
        decisions: number of decisions since the daemon started.

    """

    id: str
    path: str
    state: State
    sentence: str
    looks: int
    tick_s: float
    policy: Policy
    paused: str | None
    fell_back: str | None
    stall: StallNow | None
    around: str | None
    memory_limit_bytes: int | None
    info: Info | None
    detail: DatabaseDetail | None
    originals: OptionValues | None
    snapshot: Snapshot | None
    sample: Sample | None
    decisions: int
    last_decision: DecisionRecord | None

    @property
    def shared(self) -> str | None:
        """What it may count on of the disks that it shares, in one sentence; None if nobody shares them out."""
        allowance = None if self.sample is None else self.sample.allowance
        return None if allowance is None else allowance.in_words()

    @property
    def lease(self) -> Lease | None:
        """The lease in force, None if nobody may change the database now."""
        return None if self.snapshot is None else self.snapshot.lease

    @property
    def is_only_observed(self) -> bool:
        """Whether it is open but read-only for adocd, as a directory without an agent is."""
        return self.state != "closed" and self.info is not None and not self.info.capabilities.can_change
