"""The control laws of this installation, as REST and `adocctl controllers` show them."""

from pydantic import BaseModel, Field

from adocd.controllers import registry
from adocd.controllers.plugins import defaults_of
from adocd.model.policy import ParameterValue


class ControllerView(BaseModel):
    """A control law that a policy can name."""

    name: str
    summary: str
    source: str
    period_s: float
    knobs: list[str]
    needs: str = Field(description="what must be measured beyond that, in words")
    parameters: dict[str, ParameterValue | None] = Field(
        description="every parameter with its default; null: it has none"
    )
    default: bool


class ControllersView(BaseModel):
    """All laws, and what is wrong with those of other packages that cannot be used."""

    controllers: list[ControllerView]
    problems: dict[str, str]


def listed() -> ControllersView:
    """List them, those of other packages after ours."""
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
                default=law.name == registry.DEFAULT,
            )
            for law in registry.laws().values()
        ],
        problems=dict(registry.problems()),
    )
