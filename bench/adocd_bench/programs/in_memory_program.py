"""The program whose cost per write is measured: writes that never stall, through rocksdict, agent attached or not.

    python -m adocd_bench.programs.in_memory_program DIRECTORY WRITES [attach | attach-and-stay]

One memtable holds everything and there is no write-ahead log, so that only the write itself costs time.
"""

import random
import signal
import sys

import adocd_agent
from rocksdict import Options, Rdict, WriteOptions

from adocd_bench.programs.fill import KEY_BYTES

_MEMTABLE_BYTES = 4 << 30
_VALUE_BYTES = 100


def main() -> None:
    """Write what the command line names."""
    directory, writes, *attach = sys.argv[1:]
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.enable_statistics()
    options.set_write_buffer_size(_MEMTABLE_BYTES)
    database = Rdict(directory, options)
    if attach:
        adocd_agent.attach(database, options)
    without_wal = WriteOptions()
    without_wal.disable_wal = True  # type: ignore[assignment, method-assign]  # its type hints have a method here
    random_bytes, put, value = random.Random(1).randbytes, database.put, bytes(_VALUE_BYTES)  # noqa: S311
    for _ in range(int(writes)):
        put(random_bytes(KEY_BYTES), value, write_opt=without_wal)
    if attach == ["attach-and-stay"]:
        signal.pause()
    database.close()


if __name__ == "__main__":
    main()
