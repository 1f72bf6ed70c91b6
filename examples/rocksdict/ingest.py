"""Writes sensor readings into RocksDB through rocksdict, and lets adocd keep its writes flowing.

    python ingest.py DIRECTORY [GIGABYTES]

Writes until Ctrl-C. It keeps the last reading of each sensor, and has as many sensors as make GIGABYTES (2);
the database takes up to three times that. adocd's are the import, two options, the sizes of the thread pools, and
`attach`.
"""

import argparse
import itertools
import os

import adocd_agent
from rocksdict import Env, Options, Rdict

READING_BYTES = 1000


def options() -> Options:
    """Return the options of the database; what it was opened with, the agent has to know too."""
    made = Options(raw_mode=True)
    made.create_if_missing(True)
    # rocksdict cannot change it later: adocd turns the sizes of the thread pools, within this many.
    made.set_max_background_jobs(20)
    # Without them stall times come in whole milliseconds, and byte rates are missing.
    made.enable_statistics()
    return made


def limit_threads() -> None:
    """Take back the 20 threads that RocksDB has just started, with or without adocd.

    Call it after each open. The sizes are what this program had without adocd, which is RocksDB's default here: adocd
    begins from them, and restores them.
    """
    pools = Env()
    pools.set_low_priority_background_threads(1)  # compactions
    pools.set_high_priority_background_threads(1)  # flushes


def ingest(db: Rdict, sensors: int) -> None:
    """Write one reading after the other. In a stall it is `db[key] = ...` that waits."""
    for number in itertools.count(1):
        sensor = int.from_bytes(os.urandom(8), "big") % sensors
        db[sensor.to_bytes(8, "big")] = os.urandom(READING_BYTES)
        if number % 100_000 == 0:
            print(f"{number} readings", flush=True)


def main() -> None:
    """Open the database, attach the agent, write until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Writes sensor readings into RocksDB until Ctrl-C.")
    parser.add_argument("directory", help="the database; it is created where there is none")
    parser.add_argument("gigabytes", nargs="?", type=float, default=2.0, help="how much the readings are (2)")
    arguments = parser.parse_args()
    sensors = max(1, round(arguments.gigabytes * 1e9 / READING_BYTES))

    opened_with = options()
    db = Rdict(arguments.directory, opened_with)
    limit_threads()
    try:
        # Detaches at the end of the block, before the database is closed. If it cannot attach it says why in
        # `attachment.error` and the program goes on without it.
        with adocd_agent.attach(db, opened_with) as attachment:
            print(f"agent: {attachment.error or attachment.socket_path}", flush=True)
            ingest(db, sensors)
    except KeyboardInterrupt:
        print("closing")
    finally:
        db.close()


if __name__ == "__main__":
    main()
