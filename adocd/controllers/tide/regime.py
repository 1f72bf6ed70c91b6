"""Tide's regimes."""

from enum import StrEnum


class Regime(StrEnum):
    """What the law is doing; of one database, for jobs and rates are shared by its column families."""

    CALM = "calm"
    FLOOD = "flood"
    BRIM = "brim"
    EBB = "ebb"
    YIELD = "yield"


ADMITS = (Regime.FLOOD, Regime.BRIM)
#: From the first pressure until it is paid back.
IN_FLOOD = (*ADMITS, Regime.EBB)
#: These end when nobody is pressed, even if clients write.
MAY_END = (Regime.EBB, Regime.YIELD)
REASONS = {
    Regime.CALM: "the flood is paid back, so every option is the owner's again",
    Regime.FLOOD: "memtables take what flushes cannot yet, and level 0 collects files for one large merge",
    Regime.BRIM: "level 0 is merged while it fills, so writes slow down towards what lasts",
    Regime.YIELD: "other databases want more of these disks than is left, so level 0 collects files for a later merge",
    Regime.EBB: "clients leave the device alone, so it pays back what level 0 holds",
}
