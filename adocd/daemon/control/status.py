"""What one target is like now: a value that whoever looks at a target may keep."""

from dataclasses import dataclass
from typing import Literal

from adocd.diagnosis.watch import StallNow
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
        looks: how many snapshots there were since the daemon began; who reads them one by one sees what is missed.
        tick_s: how long there is between two snapshots, in seconds, when nothing holds them up.
        policy: what is in force.
        paused: why the law decides nothing, in one sentence; None when it may.
        fell_back: why the policy is not the chosen one any more, in one sentence; None while it is.
        stall: the stall in progress, also while its agent is silent.
        around: what disks and process do now, in one sentence; None where that cannot be seen.
        memory_limit_bytes: what its cgroup allows the database's process; None without a limit.
        info, detail: of the process and the open that are followed, or were last; None before the first.
        originals: where the way back leads.
        snapshot, sample: the last ones; None while it is closed.
        decisions: how many there were since the daemon began.

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
    def lease(self) -> Lease | None:
        """Who may change it now."""
        return None if self.snapshot is None else self.snapshot.lease

    @property
    def is_only_observed(self) -> bool:
        """Whether it is open and nothing of it can be changed, as of a directory."""
        return self.state != "closed" and self.info is not None and not self.info.capabilities.can_change
