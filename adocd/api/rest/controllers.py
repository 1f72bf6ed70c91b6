"""The control laws of this installation, as REST and `adocctl controllers` show them."""

from pydantic import BaseModel, Field

from adocd.controllers import registry
from adocd.controllers.plugins import defaults_of, limits_of
from adocd.model.policy import ParameterValue


class ControllerView(BaseModel):
    """A control law that a policy can name."""

    name: str
    summary: str
    source: str
    period_s: float
    knobs: list[str]
    needs: str = Field(description="what the law must be able to measure besides its knobs, in words")
    parameters: dict[str, ParameterValue | None] = Field(description="each parameter's default; null: it has none")
    limits: dict[str, tuple[float | None, float | None]] = Field(
        description="the least and the largest value of each parameter that has bounds; null: open on that side"
    )
    default: bool = Field(description="whether a policy's controller `default` stands for this law")


class ControllersView(BaseModel):
    """All laws, and the problem of each law from another package that cannot be used."""

    controllers: list[ControllerView]
    problems: dict[str, str]


def listed() -> ControllersView:
    """List the laws: ours first, then those of other packages."""
    return ControllersView(
        controllers=[
            ControllerView(
                name=law.name,
                summary=law.summary,
                source=law.source,
                period_s=law.period_s,
                knobs=sorted(law.knobs),
                needs=str(law.needs),
                parameters=defaults_of(law),
                limits=limits_of(law),
                default=law.name == registry.DEFAULT,
            )
            for law in registry.laws().values()
        ],
        problems=dict(registry.problems()),
    )
