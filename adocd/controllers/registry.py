"""The laws that come with adocd, by name."""

from collections.abc import Mapping

from pydantic import ValidationError

from adocd.controllers.adoc import Adoc
from adocd.controllers.base import Controller
from adocd.controllers.fixed import Fixed
from adocd.model.policy import Policy

LAWS: Mapping[str, type[Controller]] = {law.name: law for law in (Fixed, Adoc)}

#: What `adocd serve` runs when no policy is named: it watches and changes nothing.
DEFAULT = Fixed.name


class PolicyError(ValueError):
    """A policy names a law that does not exist, or parameters that it does not take; one sentence."""


def create(policy: Policy) -> Controller:
    """Make a controller with fresh state for a policy.

    Raises PolicyError with one sentence that names the law or the parameter and what is possible instead.
    """
    law = LAWS.get(policy.controller)
    if law is None:
        raise PolicyError(f"there is no controller {policy.controller!r}; there are {', '.join(sorted(LAWS))}")
    try:
        parameters = law.parameters_model.model_validate(dict(policy.parameters))
    except ValidationError as error:
        raise PolicyError(_sentence(law, error)) from None
    return law(parameters)  # type: ignore[call-arg]  # each law takes its own parameters, made just above


def _sentence(law: type[Controller], error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = ", ".join(law.parameters_model.model_fields) or "none"
        return f"{law.name} has no parameter {name!r}; it has {known}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{law.name}: {name}: {message}" if name else f"{law.name}: {message}"
