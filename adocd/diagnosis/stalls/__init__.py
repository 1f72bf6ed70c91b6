"""One target's stalls as they happen: the one in progress and the finished ones."""

from adocd.diagnosis.stalls.seen import StallNow, StallSeen
from adocd.diagnosis.stalls.watch import StallWatch

__all__ = ["StallNow", "StallSeen", "StallWatch"]
