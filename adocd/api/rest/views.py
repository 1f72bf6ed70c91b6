"""What REST shows of the daemon's state."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, WrapSerializer, field_validator

from adocd.api.rest.matching import encodable
from adocd.controllers import registry
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.records import JournaledDecision
from adocd.daemon.book.kept import KeptTarget
from adocd.daemon.change.back import RestoreResult, Unlike
from adocd.daemon.control.status import State, Status
from adocd.daemon.fleet.policies import ShapingConfig, with_plain_values
from adocd.diagnosis.stalls import StallNow
from adocd.model.capabilities import Capabilities
from adocd.model.database import Info
from adocd.model.decision_record import DecisionRecord
from adocd.model.labels import labels_of
from adocd.model.policy import ParameterValue, Policy, Shaping
from adocd.model.sample import Sample
from adocd.model.snapshot import Lease, OptionValues, Restore

Text = TypeVar("Text", str, dict[str, ParameterValue])


class PolicyView(BaseModel):
    """A policy, the same for reading and for setting."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    controller: str = Field(examples=["adoc"])
    parameters: dict[str, ParameterValue] = Field(default_factory=dict, examples=[{"threads_max": 8}])
    dry_run: bool = False
    shaping: ShapingConfig = ShapingConfig()

    @field_validator("controller", "parameters")
    @classmethod
    def _can_be_written(cls, given: Text) -> Text:
        for word in (given,) if isinstance(given, str) else (*given, *given.values()):
            encodable(str(word))
        return given

    @field_validator("parameters", mode="before")
    @classmethod
    def _is_plain(cls, given: object) -> object:
        return with_plain_values(given)

    @classmethod
    def of(cls, policy: Policy) -> "PolicyView":
        """Show a policy."""
        return cls(
            controller=policy.controller,
            parameters=dict(policy.parameters),
            dry_run=policy.dry_run,
            shaping=ShapingConfig(**asdict(policy.shaping)),
        )

    def policy(self) -> Policy:
        """Make the policy; raises registry.PolicyError for a size, rate or time that cannot be read."""
        shaping = Shaping(**self.shaping.model_dump())
        return registry.plain(Policy(self.controller, self.parameters, self.dry_run, shaping))


#: Always known for a column family; any other figure of a sample can be null and is then listed in `unknown`.
KNOWN_OF_ANY_FAMILY = ("name", "options", "overflow", "stall_counts", "unknown")


# No return type: with one, pydantic would replace the sample's schema by it.
def _without_unknown(sample: Sample, show: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
    """Show null where the agent reports nothing: the sample has 0 there and lists the figure in `unknown`."""
    shown = show(sample)
    for cf in shown["column_families"]:
        cf.update(dict.fromkeys(cf["unknown"]))
    return shown


#: A sample as REST shows it.
ShownSample = Annotated[Sample, WrapSerializer(_without_unknown)]


class ProcessView(BaseModel):
    """The process that has the target open."""

    host: str
    pid: int | None = Field(description="null: the daemon cannot see which process has the database open")
    program: str
    user: str
    rocksdb_version: str
    agent: str
    protocol: str

    @classmethod
    def of(cls, info: Info) -> "ProcessView":
        """Show a process."""
        return cls(
            host=info.host,
            pid=info.pid or None,
            program=info.program,
            user=info.user,
            rocksdb_version=info.rocksdb_version,
            agent=f"{info.agent.kind} {info.agent.version}",
            protocol=info.protocol,
        )


class TargetView(BaseModel):
    """A target as in the list of targets."""

    id: str
    path: str
    state: State
    process: ProcessView | None
    policy: PolicyView
    paused: str | None
    sentence: str = Field(description="what the last cycle saw and did")
    writes_per_s: float | None
    condition: str | None
    stall: StallNow | None = Field(description="the stall in progress, even while the agent is silent")
    decisions: int = Field(description="decisions since the daemon started")
    labels: dict[str, str] = Field(
        default_factory=dict,
        description="what Kafka Streams or Flink calls the part that it belongs to, read from its path; empty for "
        "other programs' databases",
    )


class TargetDetailView(TargetView):
    """A target with its last sample, options and last decision."""

    session: str | None
    column_families: list[str]
    unseen_column_families: list[str] = Field(description="column families that the agent neither measures nor changes")
    capabilities: Capabilities | None
    added_options: dict[str, str] = Field(description="options that the agent added to the program's own at open")
    opened_before_agent: bool = Field(
        default=False,
        description="the agent was attached while the database was open: its originals are the options found then",
    )
    sample: ShownSample | None
    around: str | None = Field(description="its disks and process now, in one sentence; the figures are in the sample")
    shared: str | None = Field(
        default=None,
        description="what it may count on of the disks that it shares, and why, in one sentence; null: it is alone on "
        "them, or nobody shares them out",
    )
    options: OptionValues | None
    originals: OptionValues | None
    lease: Lease | None
    restore: Restore | None
    last_decision: DecisionRecord | None


class JournalView(BaseModel):
    """The daemon's durable record and its condition."""

    path: str
    problem: str | None = Field(
        description="why the daemon changes nothing new now, in one sentence; restores continue"
    )
    rescued: str | None = Field(
        description="what the daemon did the last time it found the journal damaged or modified by someone else"
    )
    lost_decisions: int = Field(description="decisions dropped since the daemon started: too many waited to be written")

    @classmethod
    def of(cls, book: Book) -> "JournalView":
        """Show the journal."""
        return cls(
            path=str(book.path), problem=book.problem, rescued=book.rescued, lost_decisions=book.lost_decisions
        )  # fmt: skip


_WEB_PROBLEM = Field(description="why TCP is configured but not served, in one sentence")


class KeptView(BaseModel):
    """What the daemon keeps of a database that is not open."""

    id: str
    path: str
    policy: bool = Field(description="whether an operator has set its policy")
    paused: bool = Field(description="whether an operator has paused or restored it")
    overrides: int = Field(description="its pins")
    originals: list[str] = Field(description="options that are restored when it opens; it is not forgotten before")

    @classmethod
    def of(cls, kept: KeptTarget) -> "KeptView":
        """Show what is kept."""
        return cls(
            id=kept.id,
            path=kept.path,
            policy=kept.policy,
            paused=kept.paused,
            overrides=kept.overrides,
            originals=list(kept.originals),
        )


class TargetsView(BaseModel):
    """All targets, what is kept of others, the problem of each socket that is not one, and the journal's condition."""

    targets: list[TargetView]
    kept: list[KeptView] = Field(description="databases that are closed for long and of which something is kept")
    problems: dict[str, str]
    journal: JournalView
    web_problem: str | None = _WEB_PROBLEM


class DecisionsView(BaseModel):
    """Decisions, oldest first."""

    decisions: list[DecisionRecord]
    next_before: int | None = Field(description="`before` of the request for older ones; null: there are none")


class JournaledDecisionsView(BaseModel):
    """Decisions as the journal has them, oldest first; each run of the daemon counts anew."""

    decisions: list[JournaledDecision]


class RestoredView(BaseModel):
    """The progress of each restore, by target id; `failed`: why a restore could not be requested, in one sentence."""

    restored: dict[str, Restore]
    unlike: dict[str, list[Unlike]] = Field(
        description="for each finished restore, the options that do not have their original values; a target that is "
        "missing here was not compared: its restore is still running, or its values could not be read"
    )
    failed: dict[str, str]
    warning: str | None = Field(default=None, description="why this would not survive a restart of the daemon yet")

    @classmethod
    def of(
        cls, restored: Mapping[str, RestoreResult], failed: Mapping[str, str], warning: str | None
    ) -> "RestoredView":
        """Show the result of operators.restore."""
        return cls(
            restored={target: one.restore for target, one in restored.items()},
            unlike={target: list(one.unlike) for target, one in restored.items() if one.unlike is not None},
            failed=dict(failed),
            warning=warning,
        )


class HealthView(BaseModel):
    """The daemon is alive."""

    status: str
    version: str
    pid: int
    targets: int
    journal: JournalView
    web_problem: str | None = _WEB_PROBLEM


def target(status: Status) -> TargetView:
    """Show one target in a list."""
    last = status.sample if status.state == "attached" else None
    return TargetView(
        id=status.id,
        path=status.path,
        state=status.state,
        process=None if status.info is None else ProcessView.of(status.info),
        policy=PolicyView.of(status.policy),
        paused=status.paused,
        sentence=status.sentence,
        writes_per_s=None if last is None else last.writes_per_s,
        condition=None if last is None else last.condition,
        stall=status.stall,
        decisions=status.decisions,
        labels=dict(labels_of(status.path)),
    )


def target_detail(status: Status) -> TargetDetailView:
    """Show all of one target."""
    detail, snapshot = status.detail, status.snapshot
    return TargetDetailView(
        **dict(target(status)),
        session=None if detail is None else detail.session,
        column_families=[] if detail is None else list(detail.column_families),
        capabilities=None if detail is None else detail.capabilities,
        unseen_column_families=[] if detail is None else list(detail.unseen_column_families),
        added_options={} if detail is None else dict(detail.added_options),
        opened_before_agent=detail is not None and detail.opened_before_agent,
        sample=status.sample,
        around=status.around,
        shared=status.shared,
        options=None if snapshot is None else snapshot.options,
        originals=status.originals,
        lease=status.lease,
        restore=None if snapshot is None else snapshot.restore,
        last_decision=status.last_decision,
    )
