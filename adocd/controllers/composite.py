"""Several laws at once, on knobs that do not affect each other."""

from collections.abc import Iterable, Sequence
from itertools import combinations, product

from adocd.controllers.base import Controller, Needs
from adocd.controllers.beside import as_if_alone, others_turn
from adocd.model.decision import Decision
from adocd.model.knob import Knob, contend
from adocd.model.sample import Sample

#: Separates the names of laws in a policy's `controller`.
PLUS = "+"


class Composite(Controller):
    """Several laws side by side, each with its own knobs, parameters and period.

    The daemon gives each law its own window (adocd.daemon.control.law). `step` is for callers that have one sample for
    all laws, at the pace of the slowest.
    """

    summary = "several laws at once"
    source = "those of its laws"

    def __init__(self, parts: Iterable[Controller]) -> None:
        self.parts = tuple(parts)
        self.name = PLUS.join(part.name for part in self.parts)
        self.period_s = max(part.period_s for part in self.parts)
        self.knobs = frozenset[Knob]().union(*(part.knobs for part in self.parts))
        self.optional_knobs = frozenset[Knob]().union(*(part.optional_knobs for part in self.parts))
        self.needs = _all_needs([part.needs for part in self.parts])
        #: The parameter has its law's name in front, as in a policy that names several laws.
        self.switches = {  # type: ignore[misc]  # those of a composite depend on its parts
            knob: f"{part.name}.{switch}"
            for part in self.parts
            for knob, switch in part.switches.items()
            if knob in part.knobs
        }

    def step(self, sample: Sample) -> Decision | None:
        """Ask every law and merge their decisions."""
        seen = ((part, as_if_alone(sample, others_turn(part, self.parts))) for part in self.parts)
        return joined(decision for part, its in seen if (decision := part.step(its)) is not None)


def parts_of(controller: Controller) -> tuple[Controller, ...]:
    """Return the laws that a controller consists of: the parts of a Composite, otherwise the controller itself."""
    return controller.parts if isinstance(controller, Composite) else (controller,)


def joined(decisions: Iterable[Decision]) -> Decision | None:
    """Merge several decisions into one, so that they go into one plan; None if there are none."""
    several = tuple(decisions)
    if len(several) <= 1:
        return several[0] if several else None
    return Decision(
        settings=tuple(setting for decision in several for setting in decision.settings),
        signal="; ".join(decision.signal for decision in several),
        rule=PLUS.join(decision.rule for decision in several),
        reason="; ".join(decision.reason for decision in several),
    )


def conflict(laws: Iterable[Controller]) -> str | None:
    """Say which two laws turn the same options, and how to resolve that; None if no two do."""
    for one, other in combinations(laws, 2):
        for mine, others in product(sorted(one.knobs), sorted(other.knobs)):
            if not contend(mine, others):
                continue
            what = f"both turn {mine}" if mine is others else f"{mine} and {others} exclude each other"
            ways = [
                f"{law.name}.{switch}" for law, knob in ((one, mine), (other, others))
                if (switch := law.switches.get(knob)) is not None
            ]  # fmt: skip
            way_out = f", or set {' or '.join(ways)}" if ways else ""
            return f"{one.name} and {other.name} cannot work together: {what}; leave one law out{way_out}"
    return None


def _all_needs(needs: Sequence[Needs]) -> Needs:
    """Return what several laws need together: where one of them cannot work, the policy cannot."""
    return Needs(
        tickers=tuple(dict.fromkeys(ticker for each in needs for ticker in each.tickers)),
        events=tuple(dict.fromkeys(event for each in needs for event in each.events)),
        level_bytes=any(each.level_bytes for each in needs),
        background_rates=any(each.background_rates for each in needs),
        level_compaction=any(each.level_compaction for each in needs),
    )
