"""The configuration's sections about some databases: which are meant, their policy, and their share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from adocd.controllers import registry
from adocd.daemon.change.judge import JUDGED_S_MIN
from adocd.daemon.fleet.quantities import Seconds, or_text
from adocd.model import mistakes
from adocd.model.labels import LABELS
from adocd.model.policy import ParameterValue, Policy, Priority, Shaping
from adocd.model.selector import Selector, no_such_label


class Section(BaseModel):
    """A table of the configuration file; an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ShapingConfig(Section):
    """How fast a law may move its knobs; 0 means no limit, as in the published laws."""

    model_config = ConfigDict(strict=True)

    step_factor: Annotated[
        float,
        Field(
            ge=0,
            le=1024,
            description="largest factor by which a knob may grow or shrink at once",
            json_schema_extra={"anyOf": [{"const": 0}, {"exclusiveMinimum": 1}]},
        ),
    ] = 0.0
    pacing_s: Annotated[
        Seconds, Field(ge=0, le=3600, description="least time between two decisions", json_schema_extra=or_text)
    ] = 0.0
    refractory_s: Annotated[
        Seconds,
        Field(ge=0, le=3600, description="least time before a knob reverses direction", json_schema_extra=or_text),
    ] = 0.0
    judge_s: Annotated[
        Seconds,
        Field(
            ge=0,
            le=3600,
            description="time over which changes are judged, to take back those that made things worse; 15 s or more",
            json_schema_extra=or_text,
        ),
    ] = 0.0

    @field_validator("judge_s")
    @classmethod
    def _says_something(cls, judge_s: float) -> float:
        if 0 < judge_s < JUDGED_S_MIN:
            raise ValueError(f"must be at least {JUDGED_S_MIN:g} s, or 0 to judge nothing")
        return judge_s

    @field_validator("step_factor")
    @classmethod
    def _leaves_room(cls, factor: float) -> float:
        if 0 < factor <= 1:
            raise ValueError("must be more than 1, such as 2, or 0 for no limit")
        return factor


def with_plain_values(parameters: object) -> object:
    """Refuse what no parameter can be, with one sentence instead of one for each type that a parameter can have."""
    for name, value in parameters.items() if isinstance(parameters, dict) else ():
        if not isinstance(value, bool | int | float | str):
            raise ValueError(f"{name} must be a number, text, true or false, not {mistakes.quoted(value)}")
    return parameters


class PolicyConfig(Section):
    """What to do with a database: `[policy]` for all, `[[targets]]` for some."""

    controller: str = Field(
        default=registry.WATCHING,
        description="the control law; `adocctl controllers` lists them, `default` stands for the one that adocd "
        "recommends, and `adoc+mimd` names two at once",
    )
    parameters: dict[str, ParameterValue] = Field(
        default_factory=dict, description="the law's own parameters; with several laws, one table per law, by its name"
    )
    dry_run: bool = Field(default=False, description="decide and log, but change nothing")
    shaping: ShapingConfig = ShapingConfig()

    def policy(self) -> Policy:
        """Build the policy; raises registry.PolicyError for a law or parameter that does not exist."""
        shaping = Shaping(**self.shaping.model_dump())
        policy = registry.plain(Policy(self.controller, self.parameters, self.dry_run, shaping))
        registry.create(policy)
        return policy

    @field_validator("controller")
    @classmethod
    def _exists(cls, controller: str) -> str:
        registry.check_names(controller)  # its PolicyError is a ValueError
        return controller

    @field_validator("parameters", mode="before")
    @classmethod
    def _flattened(cls, given: object) -> object:
        """Flatten `[policy.parameters.mimd]` by prefixing each of its keys with `mimd.`."""
        if not isinstance(given, dict):
            return given
        flat: dict[object, object] = {}
        for key, value in given.items():
            flat |= (
                {f"{key}.{name}": inner for name, inner in value.items()} if isinstance(value, dict) else {key: value}
            )
        return with_plain_values(flat)


class _Selecting(Section):
    """Which databases a section is about: those that match its path and all of its labels."""

    path: str | None = Field(
        default=None, description="a database's directory; * and ? match as in a shell, and * also /", min_length=1
    )
    labels: dict[str, Annotated[str, Field(min_length=1)]] = Field(
        default_factory=dict,
        validate_default=True,
        description=f"patterns of what Kafka Streams and Flink call its parts: {', '.join(LABELS)}",
    )

    @field_validator("labels")
    @classmethod
    def _mean_something(cls, labels: dict[str, str], known: ValidationInfo) -> dict[str, str]:
        if not labels and known.data.get("path", "") is None:
            raise ValueError("must say which databases are meant, or path must")
        for name in labels:
            if name not in LABELS:
                raise ValueError(no_such_label(name))
        return labels

    def matches(self, path: str) -> bool:
        """Whether the database at this path is meant."""
        return Selector(self.path, self.labels).matches(path)


class TargetConfig(_Selecting, PolicyConfig):
    """A policy for the databases that match; the first match applies."""


class ShareConfig(_Selecting):
    """How much the databases that match may claim of what they share; the first match applies."""

    weight: Annotated[
        float, Field(ge=0.001, le=1000, description="how much it may claim, relative to others, which have 1")
    ] = 1.0
    floor: Annotated[
        float,
        Field(ge=0, le=1, description="the share of its disks, 0 to 1, that it gets before others if it needs it"),
    ] = 0.0

    def priority(self) -> Priority:
        """Build it."""
        return Priority(self.weight, self.floor)
