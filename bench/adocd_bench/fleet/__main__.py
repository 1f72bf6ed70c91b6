"""Runs simulated databases in their own processes: `python -m adocd_bench.fleet DIRECTORY --targets N`.

They are SIMULATED: they contain no RocksDB, and their figures say nothing about a database. Each process serves the
admin protocol on a socket in $ADOCD_RUN_DIR and has idle threads, as a program with RocksDB does, so a daemon has the
same work as with real ones. Prints `ready` once all of them listen, and serves until terminated.
"""

import argparse
import asyncio
import ctypes
import gc
import os
import platform
import signal
import sys
import threading
import time
from pathlib import Path

from adocd.targets.run_dir import run_dir
from adocd_bench.fleet.database import FleetDatabase
from adocd_bench.fleet.figures import FleetLoad
from adocd_bench.fleet.server import FleetAgent, serve

#: Idle threads per process, in place of RocksDB's thread pools.
_POOL_THREADS = 4
#: One in this many databases stalls now and then.
STALLS_ONE_IN = 10
_STALL_EVERY_S = 20.0
_PR_SET_PDEATHSIG = 1


def load_of(number: int) -> FleetLoad:
    """Choose the load and stalls of the database with this number."""
    stalls = number % STALLS_ONE_IN == 0
    return FleetLoad(
        write_bytes_per_s=2_000_000 + 10_000 * (number % 100),
        stall_every_s=_STALL_EVERY_S if stalls else 0.0,
        phase_s=number * 0.37 % _STALL_EVERY_S,
    )


def _be_a_process(directory: Path, numbers: range, parent: int) -> None:
    """Serve these databases until the parent exits or terminates this process."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    for _ in range(_POOL_THREADS):
        threading.Thread(target=time.sleep, args=(1e9,), daemon=True).start()
    host = platform.node()
    databases = [
        FleetDatabase(directory / f"db-{number:04d}", host, load_of(number), f"{os.getpid()}-1-{number}")
        for number in numbers
    ]
    asyncio.run(serve(FleetAgent(databases, host), run_dir()))


def main() -> None:
    """Fork the processes, and wait for the end of one of them."""
    parser = argparse.ArgumentParser(description="Simulated databases behind the admin protocol.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--targets", type=int, default=10)
    parser.add_argument("--per-process", type=int, default=10)
    asked = parser.parse_args()
    sys.stdout.write(f"{asked.targets} SIMULATED databases: none of them is RocksDB\n")
    sys.stdout.flush()
    gc.freeze()
    parent, began = os.getpid(), range(0, asked.targets, asked.per_process)
    for first in began:
        if os.fork() == 0:
            numbers = range(first, min(first + asked.per_process, asked.targets))
            _be_a_process(asked.directory, numbers, parent)
            os._exit(0)
    while len(list(run_dir().glob("agent-*.sock"))) < len(began):
        time.sleep(0.05)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    os.wait()


if __name__ == "__main__":
    main()
