"""Puts a daemon together: settings from the configuration, and what is shared by all loops."""

import os
import platform
import time
from pathlib import Path

import psutil

from adocd.daemon import guards
from adocd.daemon.config import Config
from adocd.daemon.fleet import Fleet
from adocd.daemon.target_loop import LoopSettings
from adocd.model.policy import Policy


def make_fleet(config: Config, run_dir: Path, policy: Policy | None, sockets: tuple[Path, ...] = ()) -> Fleet:
    """Make the fleet of this process; see Fleet for `policy` and `sockets`."""
    daemon = config.daemon
    budget_bytes = daemon.memory_budget_bytes or psutil.virtual_memory().total // 4
    settings = LoopSettings(
        # Unique per process: a restarted daemon is another holder, and waits for the lease of the one before.
        holder=f"adocd@{platform.node()}:{os.getpid()}",
        tick_s=daemon.tick_s,
        lease_ttl_s=daemon.lease_ttl_s,
        history=max(10, round(daemon.history_s / daemon.tick_s)),
        guards=(guards.bounds, guards.memory_budget(budget_bytes)),
        clock=time.monotonic,
        wall_clock=time.time,
    )
    return Fleet(config, settings, run_dir, policy=policy, sockets=sockets)
