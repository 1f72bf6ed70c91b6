"""Assembles a daemon: settings from the configuration, and the objects that all loops share."""

import logging
import os
import platform
import secrets
import time
from pathlib import Path

import psutil

from adocd.controllers import registry
from adocd.daemon.book.book import Book, Clocks
from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.control.law import STEP_LIMIT_S
from adocd.daemon.control.loop_settings import LoopSettings
from adocd.daemon.fleet.config import Config
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.watch.events import Events
from adocd.model.memtables import MEMORY_SHARE
from adocd.model.policy import Policy
from adocd.probes.memory_limit import container_limit_bytes

_log = logging.getLogger(__name__)
#: Most samples per target, of about 1 KiB each, however long history_s and short tick_s are.
_SAMPLES_MAX = 10_000


CLOCKS = Clocks(monotonic=time.monotonic, wall=time.time)


def new_holder() -> str:
    """Return a lease holder's name that is unique to this process.

    It is unique even among containers with equal names and pids. So a restarted daemon is another holder, and waits
    for its predecessor's lease to end.
    """
    return f"adocd@{platform.node()}:{os.getpid()}-{secrets.token_hex(2)}"


def make_fleet(
    config: Config,
    run_dir: Path,
    policy: Policy | None,
    book: Book,
    *,
    holder: str,
    dry_run: bool,
    sockets: tuple[Path, ...] = (),
    directories: tuple[Path, ...] = (),
) -> Fleet:
    """Build this process's fleet; see Fleet for the parameters."""
    for problem in registry.problems().values():
        _log.warning("%s", problem)
    return Fleet(
        config,
        loop_settings(config, holder),
        run_dir,
        book,
        policy=policy,
        dry_run=dry_run,
        sockets=sockets,
        directories=tuple(dict.fromkeys((*map(Path, config.daemon.directories), *directories))),
        memory_budget_bytes=memory_budget_bytes(config),
    )


def loop_settings(config: Config, holder: str) -> LoopSettings:
    """Build the settings that all loops share."""
    daemon, safety = config.daemon, config.safety
    return LoopSettings(
        holder=holder,
        tick_s=daemon.tick_s,
        lease_ttl_s=daemon.lease_ttl_s,
        history=min(_SAMPLES_MAX, max(10, round(daemon.history_s / daemon.tick_s))),
        compaction=CompactionLimits(
            safety.compaction_off_s, safety.compaction_off_l0_files, safety.compaction_off_pending_bytes
        ),
        clock=CLOCKS.monotonic,
        wall_clock=CLOCKS.wall,
        step_limit_s=STEP_LIMIT_S,
        priority_of=config.priority_for,
        # Larger than any earlier daemon's ids, unless that one published a million events a second.
        events=Events(first_id=round(CLOCKS.wall() * 1e6)),
    )


def memory_budget_bytes(config: Config) -> int:
    """Return the limit in bytes for the memtables of all targets together."""
    return config.daemon.memory_budget_bytes or _memory_bytes() // MEMORY_SHARE


def _memory_bytes() -> int:
    """Return the memory in bytes that databases here can have: the machine's, or our container's if it has a limit.

    Databases do not run in the daemon's own service, so its limit says nothing about them (MemoryMax= in the unit).
    """
    return container_limit_bytes(os.getpid()) or psutil.virtual_memory().total
