"""Writes sensor readings into RocksDB through rocksdict, and lets adocd keep its writes flowing.

    python ingest.py DIRECTORY

Writes until Ctrl-C. Three lines are adocd's: the import, the options it needs from the open on, and `attach`.
"""

import argparse
import itertools
import os

import adocd_agent
from rocksdict import Options, Rdict

READING_BYTES = 1000


def options() -> Options:
    """Return the options of the database; what it was opened with, the agent has to know too."""
    made = Options(raw_mode=True)
    made.create_if_missing(True)
    # rocksdict cannot change it later: adocd turns the sizes of the thread pools, within this many.
    made.set_max_background_jobs(20)
    # Without them adocd sees less of how many writes there are and how long they waited.
    made.enable_statistics()
    return made


def ingest(db: Rdict) -> None:
    """Write one reading after the other. In a stall it is `db[key] = ...` that waits."""
    for number in itertools.count(1):
        sensor = os.urandom(8)
        db[sensor + number.to_bytes(8, "big")] = os.urandom(READING_BYTES)
        if number % 100_000 == 0:
            print(f"{number} readings", flush=True)


def main() -> None:
    """Open the database, attach the agent, write until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Writes sensor readings into RocksDB until Ctrl-C.")
    parser.add_argument("directory", help="the database; it is created where there is none")
    directory = parser.parse_args().directory

    opened_with = options()
    db = Rdict(directory, opened_with)
    try:
        # Detaches at the end of the block, before the database is closed. If it cannot attach it says why in
        # `attachment.error` and the program goes on without it.
        with adocd_agent.attach(db, opened_with) as attachment:
            print(f"agent: {attachment.error or attachment.socket_path}", flush=True)
            ingest(db)
    except KeyboardInterrupt:
        print("closing")
    finally:
        db.close()


if __name__ == "__main__":
    main()
