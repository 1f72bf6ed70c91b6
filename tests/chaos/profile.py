"""How much of it: a few of everything, or with ADOCD_CHAOS=full the counts that the project promises."""

from __future__ import annotations

import os
import random

FULL = os.environ.get("ADOCD_CHAOS") == "full"
#: New in each run, so that runs add up; ADOCD_CHAOS_SEED repeats one.
SEED = int(os.environ.get("ADOCD_CHAOS_SEED") or random.SystemRandom().randrange(1_000_000))


def count(short: int, full: int) -> int:
    """Choose by the profile."""
    return full if FULL else short


def chance(*names: str) -> random.Random:
    """Make the random numbers of one test; they do not depend on which other tests run."""
    return random.Random(f"{SEED} {' '.join(names)}")  # noqa: S311
