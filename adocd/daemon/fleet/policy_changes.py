"""What a new policy would change, field by field, for an operator to review before setting it. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from adocd.controllers import registry
from adocd.controllers.plugins import defaults_of
from adocd.model.policy import ParameterValue, Policy


@dataclass(frozen=True, slots=True)
class Change:
    """One field's present and new value; null stands for a parameter that is absent or has no default."""

    field: str
    now: ParameterValue | None
    wanted: ParameterValue | None


def changes(now: Policy, wanted: Policy) -> tuple[Change, ...]:
    """Return what would change. If the law stays, a parameter that is not given counts with its default."""
    same_law = now.controller == wanted.controller
    before, after = _fields(now, with_defaults=same_law), _fields(wanted, with_defaults=same_law)
    return tuple(
        Change(name, before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if not _same(before.get(name), after.get(name))
    )


def _fields(policy: Policy, *, with_defaults: bool) -> dict[str, ParameterValue | None]:
    parameters: dict[str, ParameterValue | None] = dict(_defaults(policy)) if with_defaults else {}
    parameters |= policy.parameters
    return {
        "controller": policy.controller,
        **{f"parameters.{name}": value for name, value in parameters.items()},
        "dry_run": policy.dry_run,
        **{f"shaping.{name}": value for name, value in asdict(policy.shaping).items()},
    }


def _defaults(policy: Policy) -> Mapping[str, ParameterValue | None]:
    """Return the defaults as a policy would write them; none for an invalid policy, which is reported elsewhere."""
    try:
        parts, laws = registry.parts_of(policy), registry.laws()
    except registry.PolicyError:
        return {}
    return {
        (name if len(parts) == 1 else f"{law}.{name}"): default
        for law, _ in parts
        for name, default in defaults_of(laws[law]).items()
    }


def _same(one: ParameterValue | None, other: ParameterValue | None) -> bool:
    """Whether two values are equal: 8 equals 8.0, but true does not equal 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
