"""Opens a simulated database as a user asks for it, and refuses impossible values in one sentence."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from adocd.controllers import registry
from adocd.daemon.change.guards.bounds import out_of_bounds
from adocd.model.knob import Knob
from adocd.model.policy import Policy
from adocd.model.values import RATE_LIMITER, of_database, of_family
from adocd.simulator.database import FAMILY, Setup
from adocd.simulator.device import BadProfile, Device, device
from adocd.simulator.options import DatabaseOptions, FamilyOptions, RefusedOption
from adocd.simulator.workload import BadWorkload, workload

#: All samples of a run are kept, about 1 KiB each.
MAX_TICKS = 200_000
_MIN_TICK_S, _MAX_TICK_S = 0.05, 60.0
_FAMILY = FamilyOptions().written()
#: At open, a max_compaction_bytes of 0, its default, becomes this many times target_file_size_base.
_SIZED_AT_OPEN = "max_compaction_bytes"
_FILES_A_COMPACTION = 25


class BadSimulation(ValueError):
    """The requested simulation is impossible; the message is one sentence with the way out."""


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """What to simulate, in a user's words.

    `options` are RocksDB's, by name, as it writes them. `rate_bytes_per_s` is the workload's mean, None for its own.
    `rate_limiter_bytes_per_s` opens the database with a rate limiter. Measured rates of a machine replace the model's
    own (None): what one flush writes, what one compaction reads, what the device reads, and what it reads and writes
    together (infinity if they do not compete); for the last two the model uses the profile's rate. `reads_cached_share`
    is the share of compactions' reads that the page cache serves, `wal_outside_share` the share of the WAL's bytes that
    the profile's cap does not cover, 0 to 1 each. `cores` is the number of processors, None for no limit.
    """

    profile: str = "cap-210"
    workload: str = "closed-loop"
    seconds: float = 3600.0
    tick_s: float = 1.0
    options: Mapping[str, str] = field(default_factory=dict)
    rate_bytes_per_s: float | None = None
    rate_limiter_bytes_per_s: int | None = None
    flush_bytes_per_s: float | None = None
    compaction_bytes_per_s: float | None = None
    read_bytes_per_s: float | None = None
    mixed_bytes_per_s: float | None = None
    reads_cached_share: float = 0.0
    cores: float | None = None
    wal_outside_share: float = 0.0


def opened(asked: SimulationRequest) -> Setup:
    """Open the requested database; raises BadSimulation."""
    if not _MIN_TICK_S <= asked.tick_s <= _MAX_TICK_S:
        raise BadSimulation(f"a tick takes {_MIN_TICK_S:g} to {_MAX_TICK_S:g} seconds, not {asked.tick_s:g}")
    if not 1.0 <= asked.seconds <= MAX_TICKS * asked.tick_s:
        most_s = MAX_TICKS * asked.tick_s
        raise BadSimulation(
            f"with a tick of {asked.tick_s:g} s a simulation takes 1 to {most_s:g} seconds, not {asked.seconds:g}"
        )
    limiter = asked.rate_limiter_bytes_per_s
    if limiter is not None and (why := out_of_bounds(RATE_LIMITER, str(limiter))) is not None:
        raise BadSimulation(why)
    try:
        family, database = _options(asked.options)
        load = workload(asked.workload, asked.rate_bytes_per_s)
        return Setup(_machine(asked), load, family, database, limiter)
    except (BadProfile, BadWorkload, RefusedOption) as error:
        raise BadSimulation(str(error)) from None


def suited(asked: SimulationRequest, policy: Policy) -> tuple[SimulationRequest, Policy]:
    """Give a law what an operator would have to: the device's write bandwidth, and a rate limiter if the law turns one.

    Explicit values stay as they are. On a device without a cap, whose bandwidth is unknown, nothing is filled in.
    Raises BadSimulation, and registry.PolicyError for an invalid policy.
    """
    try:
        cap = device(asked.profile).bytes_per_s
    except BadProfile as error:
        raise BadSimulation(str(error)) from None
    if cap is None:
        return asked, policy
    policy = registry.on_device(policy, int(cap))
    law = registry.create(policy)
    if Knob.RATE_LIMIT in law.knobs - law.optional_knobs and asked.rate_limiter_bytes_per_s is None:
        asked = replace(asked, rate_limiter_bytes_per_s=int(cap))
    return asked, policy


def _machine(asked: SimulationRequest) -> Device:
    _check_machine(asked)
    made = device(asked.profile)
    mixed = asked.mixed_bytes_per_s or made.mixed_bytes_per_s
    client = asked.rate_bytes_per_s if asked.workload == "closed-loop" else None
    return replace(
        made,
        read_bytes_per_s=asked.read_bytes_per_s or made.read_bytes_per_s,
        mixed_bytes_per_s=None if mixed == math.inf else mixed,
        cached_share=asked.reads_cached_share,
        flush_thread_bytes_per_s=asked.flush_bytes_per_s or made.flush_thread_bytes_per_s,
        compaction_thread_bytes_per_s=asked.compaction_bytes_per_s or made.compaction_thread_bytes_per_s,
        client_thread_bytes_per_s=client or made.client_thread_bytes_per_s,
        cores=asked.cores,
        wal_share=1 - asked.wal_outside_share,
    )


def _check_machine(asked: SimulationRequest) -> None:
    rates = {
        "one flush": asked.flush_bytes_per_s,
        "one compaction": asked.compaction_bytes_per_s,
        "a device that reads": asked.read_bytes_per_s,
    }
    for name, bytes_per_s in rates.items():
        if bytes_per_s is not None and not 0 < bytes_per_s < math.inf:
            raise BadSimulation(f"{name} does more than 0 bytes/s, not {bytes_per_s:g}")
    if asked.mixed_bytes_per_s is not None and not asked.mixed_bytes_per_s > 0:
        raise BadSimulation(f"a device that reads and writes does more than 0 bytes/s, not {asked.mixed_bytes_per_s:g}")
    if asked.cores is not None and not 0 < asked.cores < math.inf:
        raise BadSimulation(f"there are more than 0 cores, not {asked.cores:g}")
    shares = {"the WAL outside the cap": asked.wal_outside_share, "reads in the page cache": asked.reads_cached_share}
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise BadSimulation(f"the share of {name} is 0 to 1, not {share:g}")


def _options(given: Mapping[str, str]) -> tuple[FamilyOptions, DatabaseOptions]:
    of_the_family = {name: value for name, value in given.items() if name in _FAMILY}
    of_the_database = {name: value for name, value in given.items() if name not in _FAMILY}
    family, database = FamilyOptions.parse(of_the_family), DatabaseOptions.parse(of_the_database)
    names = {name: of_family(FAMILY, name) for name in of_the_family}
    names |= {name: of_database(name) for name in of_the_database}
    for name, option in names.items():
        if name == _SIZED_AT_OPEN and not int(given[name]):
            continue
        if (why := out_of_bounds(option, given[name])) is not None:
            raise BadSimulation(why)
    triggers = (
        family.level0_file_num_compaction_trigger,
        family.level0_slowdown_writes_trigger,
        family.level0_stop_writes_trigger,
    )
    if list(triggers) != sorted(triggers):
        words = " <= ".join(map(str, triggers))
        raise BadSimulation(f"level0 triggers must be compaction <= slowdown <= stop, and it is not so that {words}")
    return _sanitized(family, given), database


def _sanitized(family: FamilyOptions, given: Mapping[str, str]) -> FamilyOptions:
    """Replace zeros as RocksDB does at open, and only there (column_family.cc, SanitizeOptions)."""
    if not int(given.get(_SIZED_AT_OPEN, "0")):
        family = replace(family, max_compaction_bytes=_FILES_A_COMPACTION * family.target_file_size_base)
    soft, hard = family.soft_pending_compaction_bytes_limit, family.hard_pending_compaction_bytes_limit
    if soft > hard > 0:
        raise BadSimulation(
            f"soft_pending_compaction_bytes_limit must be at most hard_pending_compaction_bytes_limit, and {soft} is "
            f"more than {hard}"
        )
    return replace(family, soft_pending_compaction_bytes_limit=soft or hard)
