"""How databases share what there is once: by need, with weights and floors. Pure.

Weighted max-min fairness ("water filling": Bertsekas and Gallager, Data Networks, 6.5.2). Each claimant gets what it
needs, up to a level that is the same for all in units of its weight; what one does not need raises the level for the
others. Nobody can get more without somebody getting less who has no more for its weight already. Before that each gets
its floor, as far as it needs it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeVar

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class ShareClaim:
    """What one claimant needs, `inf` for as much as it can get; a weight above 0, and a floor as a share of 0 to 1."""

    need: float
    weight: float = 1.0
    floor: float = 0.0


def shared(claims: Mapping[_Key, ShareClaim], whole: float) -> dict[_Key, float]:
    """Divide `whole` among the claimants.

    The sum is exactly as much as they need together, at most `whole`. Each gets its floor of the whole or all it needs;
    if all floors together are more than 1 they shrink in proportion.
    """
    asked = sum(claim.floor for claim in claims.values())
    scale = whole / max(1.0, asked)
    floors = {key: min(claim.need, claim.floor * scale) for key, claim in claims.items()}
    level = _level([(claim.weight, floors[key], claim.need) for key, claim in claims.items()], whole)
    return {key: max(floors[key], min(claim.need, level * claim.weight)) for key, claim in claims.items()}


def _level(claims: Sequence[tuple[float, float, float]], whole: float) -> float:
    """Return the level, per unit of weight, to which the whole fills everybody between floor and need.

    What somebody gets as the level rises is constant up to its floor, then grows with its weight, and is constant again
    from its need on. So the sum is piecewise linear, and its corners, in order, show the piece that holds the whole.
    """
    left = whole - sum(floor for _, floor, _ in claims)
    corners = [
        (at / weight, slope)
        for weight, floor, need in claims
        for at, slope in ((floor, weight), (need, -weight))
        if floor < need
    ]
    corners.sort(key=lambda corner: (corner[0], -corner[1]))  # where both round to one place, the rise comes first
    level = slope = 0.0
    for at, change in corners:
        if slope > 0 and (at - level) * slope >= left:
            return level + max(0.0, left) / slope
        left -= (at - level) * slope if slope > 0 else 0.0
        level, slope = at, max(0.0, slope + change)
    return inf if slope <= 0 else level + max(0.0, left) / slope
