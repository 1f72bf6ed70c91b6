"""All laws by name: those that come with adocd, and those of other packages."""

import functools
from collections.abc import Collection, Mapping
from dataclasses import replace
from importlib import metadata
from typing import Any

from pydantic import ValidationError

from adocd.controllers import plugins
from adocd.controllers.adoc import Adoc
from adocd.controllers.adoc_released import AdocReleased
from adocd.controllers.base import Controller
from adocd.controllers.cockroach import Cockroach
from adocd.controllers.composite import PLUS, Composite, conflict
from adocd.controllers.fixed import Fixed
from adocd.controllers.manual import Manual
from adocd.controllers.mimd import Mimd
from adocd.controllers.silk import Silk
from adocd.controllers.speedb import Speedb
from adocd.controllers.spring_and_gear import SpringAndGear
from adocd.controllers.stability import Stability
from adocd.controllers.tide.law import Tide
from adocd.controllers.tikv import Tikv
from adocd.controllers.toggle import Toggle
from adocd.model import mistakes, units
from adocd.model.nearest import instead, nearest
from adocd.model.policy import ParameterValue, Policy

#: The laws that come with adocd.
LAWS: Mapping[str, type[Controller]] = {
    law.name: law
    for law in (
        Fixed,
        Manual,
        Adoc,
        AdocReleased,
        Mimd,
        Toggle,
        Silk,
        Stability,
        SpringAndGear,
        Speedb,
        Tikv,
        Cockroach,
        Tide,
    )
}

#: What runs where no policy is named, and after a law failed: it watches and changes nothing.
WATCHING = Fixed.name
#: The law for whoever lets adocd act and names none, and the name by which they ask for it. Where it is kept or shown,
#: the law's own name stands, so that a later version with another default does not change a policy that was set.
DEFAULT = Tide.name
BY_DEFAULT = "default"

#: Separates a law from its parameter, where a policy names several laws.
_DOT = "."


class PolicyError(ValueError):
    """A policy names an unknown law, or parameters that the law does not take; one sentence for each mistake."""

    def __init__(self, *sentences: str) -> None:
        super().__init__("; ".join(sentences))
        self.sentences = sentences


def laws() -> Mapping[str, type[Controller]]:
    """Return all laws by name, adocd's own first."""
    return {**LAWS, **_plugins().laws}


def problems() -> Mapping[str, str]:
    """Return the problems of other packages' laws by entry point, one sentence each."""
    return _plugins().problems


def forget() -> None:
    """Forget the laws of other packages, so that the next request looks for them again."""
    _plugins.cache_clear()


def create(policy: Policy) -> Controller:
    """Make a controller with fresh state for a policy; a Composite if the policy names several laws.

    Raises PolicyError with one sentence: it names the law, the parameter or the knob, and what is possible instead.
    """
    parts = [_create(*part) for part in parts_of(policy)]
    if len(parts) == 1:
        return parts[0]
    if (why := conflict(parts)) is not None:
        raise PolicyError(why)
    return Composite(parts)


def parts_of(policy: Policy) -> tuple[tuple[str, Mapping[str, ParameterValue]], ...]:
    """Return the laws that a policy names, each with its parameters; raises PolicyError.

    `adoc+mimd` names two, and then each parameter names its law: `mimd.max_bytes_per_s`.
    """
    names = policy.controller.split(PLUS)
    check_names(policy.controller)
    if len(names) == 1:
        return ((policy.controller, policy.parameters),)
    parameters: dict[str, dict[str, ParameterValue]] = {name: {} for name in names}
    for key, value in policy.parameters.items():
        law, dot, parameter = key.partition(_DOT)
        if not dot or law not in parameters:
            raise PolicyError(
                f"there are several laws, so {key!r} must begin with the one it is for: "
                f"{' or '.join(f'{name}{_DOT}' for name in names)}"
            )
        parameters[law][parameter] = value
    return tuple(parameters.items())


def plain(policy: Policy) -> Policy:
    """Return the policy with its law's own name, and sizes, rates and times as numbers: 256 MiB is 268435456.

    Raises PolicyError. Everything that reads a policy from people does this first, so that policies compare and are
    kept as numbers.
    """
    read: dict[str, ParameterValue] = {}
    wrong: dict[str, str] = {}
    for name, value in policy.parameters.items():
        unit = units.unit_of(name)
        try:
            read[name] = units.read(value, unit) if isinstance(value, str) and unit is not None else value
        except units.NoQuantity as error:
            wrong[name] = f"{name} {error}"
    numbers = replace(policy, controller=_own_name(policy.controller), parameters=read)
    if wrong:
        others = [each for each in _mistakes(numbers) if not any(name in each for name in wrong)]
        raise PolicyError(*wrong.values(), *others)
    return numbers


def _mistakes(policy: Policy) -> tuple[str, ...]:
    try:
        create(policy)
    except PolicyError as error:
        return error.sentences
    return ()


def on_device(policy: Policy, bytes_per_s: int) -> Policy:
    """Fill in the device's write bandwidth where a law needs it and the policy lacks it; raises PolicyError."""
    return replace(policy, parameters={**policy.parameters, **dict.fromkeys(device_rates(policy), bytes_per_s)})


def device_rates(policy: Policy) -> tuple[str, ...]:
    """Return the parameters for the device's write bandwidth that the policy lacks; raises PolicyError."""
    parts, known = parts_of(policy), laws()
    return tuple(
        f"{name}{_DOT}{parameter}" if len(parts) > 1 else parameter
        for name, given in parts
        if (parameter := known[name].device_rate) is not None and parameter not in given
    )


def check_names(controller: str) -> None:
    """Raise PolicyError if a policy names an unknown law, or a law twice."""
    names = _own_name(controller).split(PLUS)
    for name in names:
        if name not in LAWS and name not in _plugins().laws:
            raise PolicyError(_unknown(name, also=() if len(names) > 1 else (BY_DEFAULT,)))
    if len(set(names)) < len(names):
        raise PolicyError(f"{controller!r} names a law twice: a database runs each law once")


def _own_name(controller: str) -> str:
    return DEFAULT if controller == BY_DEFAULT else controller


def _unknown(name: str, also: Collection[str]) -> str:
    whys = [why for where, why in problems().items() if where.partition(" ")[0] == name]
    return "; ".join([f"there is no controller {name!r}", *whys]) + instead(name, sorted([*laws(), *also]))


def _create(name: str, given: Mapping[str, ParameterValue]) -> Controller:
    law = laws()[name] if name not in LAWS else LAWS[name]
    try:
        controller = law(law.parameters_model.model_validate(dict(given)))  # type: ignore[call-arg]  # each takes its own
        wrong = next(plugins.wrong_attributes(controller), None)  # it may set them by its parameters
    except ValidationError as error:
        raise PolicyError(*(_sentence(law, each) for each in error.errors())) from None
    except (Exception, SystemExit) as error:
        raise PolicyError(f"{name} cannot be made: {plugins.in_words(error)}") from error
    if wrong is not None:
        raise PolicyError(f"{name} cannot be used: its {' '.join(wrong)}")
    return controller


def _sentence(law: type[Controller], error: Mapping[str, Any]) -> str:
    name, fields = ".".join(str(part) for part in error["loc"]), law.parameters_model.model_fields
    if error["type"] == "extra_forbidden":
        known = nearest(name, fields)
        has = f"did you mean {known}?" if known else f"it has {', '.join(fields) or 'none'}"
        return f"{law.name} has no parameter {name!r}; {has}"
    if error["type"] == "missing":
        description = fields[name].description
        what = f" ({description})" if description else ""
        return f"{law.name} needs the parameter {name}{what}, which has no default"
    return f"{law.name}: {mistakes.sentence(error, name)}"


@functools.cache
def _plugins() -> plugins.FoundLaws:
    """Look for laws of other packages once per process, and only when no law of adocd has the name: it is slow."""
    return plugins.load(metadata.entry_points(group=plugins.GROUP), {*LAWS, BY_DEFAULT})
