"""Fair sharing of a limited rate."""

from collections.abc import Sequence


def fair_shares(wanted: Sequence[float], available: float | None, weights: Sequence[float] = ()) -> list[float]:
    """Divide the available rate equally, or by weights; what one does not need goes to the others.

    None means no limit. A weight is the number of sharers behind one demand, such as threads.
    """
    if available is None or sum(wanted) <= available:
        return list(wanted)
    shares = [0.0] * len(wanted)
    left, waiting = max(0.0, available), sum(weights) if weights else float(len(wanted))
    weighed = [want / weight for want, weight in zip(wanted, weights, strict=True)] if weights else wanted
    for index in sorted(range(len(wanted)), key=weighed.__getitem__):
        weight = weights[index] if weights else 1.0
        shares[index] = min(wanted[index], left * weight / waiting) if waiting > weight else min(wanted[index], left)
        left -= shares[index]
        waiting -= weight
    return shares
