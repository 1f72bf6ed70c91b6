"""A user's program with rocksdict: it writes numbered keys, and counts in a file those that were acknowledged.

    python -m tests.chaos.python_writer DIRECTORY KEYS_PER_S

Does what it is told, one command a line on stdin, and answers each with one line on stdout, "ok", "ok VALUE" or
"error: REASON". Prints "ready" first.

    open own       opens (creates) with options of its own, attaches the agent, and begins to write
    open stored    the same without options: rocksdict loads the newest OPTIONS file, as most programs let it
    close          stops writing, then closes
    verify         opens for reading and looks up every key that was acknowledged: "ok COUNT"

The count lies in a shared mapping (DIRECTORY.acknowledged), which outlives SIGKILL as the write-ahead log does: both
are the kernel's by then. DIRECTORY.standstills has a line for each time that no Python thread could run: rocksdict
keeps the interpreter lock while a write is stalled.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import adocd_agent
from rocksdict import AccessType, DBCompressionType, Env, Options, Rdict

MIB = 1 << 20
MEMTABLE_BYTES = 256 << 10
BATCHES_PER_S = 5
#: A thread that wanted to sleep for LOOK_S and woke later than this could not run meanwhile.
LOOK_S, STANDSTILL_S = 0.05, 0.15


def own_options() -> Options:
    """Small memtables and little patience, as with DbBench; as many jobs as the thread pools may be put at."""
    chosen = Options(raw_mode=True)
    chosen.create_if_missing(True)
    chosen.enable_statistics()
    chosen.set_compression_type(DBCompressionType.none())
    chosen.set_write_buffer_size(MEMTABLE_BYTES)
    chosen.set_target_file_size_base(MIB)
    chosen.set_max_bytes_for_level_base(4 * MIB)
    chosen.set_level_zero_slowdown_writes_trigger(4)
    chosen.set_level_zero_stop_writes_trigger(16)
    chosen.set_max_background_jobs(20)
    return chosen


def key_of(number: int) -> bytes:
    """Name a key; numbers that follow each other lie far apart, so that files overlap and compaction has to merge."""
    return hashlib.blake2b(number.to_bytes(8, "big"), digest_size=16).digest()


def value_of(number: int) -> bytes:
    """Make its value, of 1000 bytes."""
    return number.to_bytes(8, "big") * 125


class Acknowledged:
    """How many keys were acknowledged, in a file."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 8)

    def get(self) -> int:
        """Read it."""
        return int(struct.unpack_from("<q", self._map)[0])

    def set(self, count: int) -> None:
        """Write it."""
        struct.pack_into("<q", self._map, 0, count)


class Program:
    """The program's state."""

    def __init__(self, directory: Path, keys_per_s: int) -> None:
        self._directory = directory
        self._keys_per_s = keys_per_s
        self._acknowledged = Acknowledged(directory.with_suffix(".acknowledged"))
        self._standstills = directory.with_suffix(".standstills").open("a", buffering=1)
        self._database: Any = None
        self._attachment: adocd_agent.Attachment | None = None
        self._writing = threading.Event()
        self._writer: threading.Thread | None = None
        self._failure: str | None = None
        threading.Thread(target=self._watch_standstills, daemon=True).start()

    def open(self, whose: str) -> None:
        """Open, attach, write."""
        options = own_options() if whose == "own" else None
        self._database = Rdict(str(self._directory), options) if options else Rdict(str(self._directory))
        pools = Env()
        pools.set_low_priority_background_threads(1)
        pools.set_high_priority_background_threads(1)
        self._attachment = adocd_agent.attach(self._database, options)
        if self._attachment.error is not None:
            raise RuntimeError(self._attachment.error)
        self._writing.set()
        self._writer = threading.Thread(target=self._write)
        self._writer.start()

    def close(self) -> None:
        """Stop writing, then close."""
        self._writing.clear()
        if self._writer is not None:
            self._writer.join()
        if self._database is not None:
            self._database.close()
        self._database = None
        if self._failure is not None:
            raise RuntimeError(self._failure)

    def verify(self) -> str:
        """Look up every key that was acknowledged."""
        database = Rdict(str(self._directory), access_type=AccessType.read_only())
        count = self._acknowledged.get()
        wrong = [number for number in range(count) if database.get(key_of(number)) != value_of(number)]
        database.close()
        if wrong:
            raise RuntimeError(
                f"{len(wrong)} of {count} acknowledged keys are missing or wrong, the first is {wrong[0]}"
            )
        return str(count)

    def _write(self) -> None:
        number = self._acknowledged.get()
        batch = self._keys_per_s // BATCHES_PER_S
        put, acknowledge = self._database.put, self._acknowledged.set
        try:
            while self._writing.is_set():
                began_s = time.monotonic()
                for _ in range(batch):
                    put(key_of(number), value_of(number))
                    number += 1
                    acknowledge(number)
                time.sleep(max(0.0, began_s + 1 / BATCHES_PER_S - time.monotonic()))
        except Exception as error:  # the agent must never be the reason, so the test must hear of it
            self._failure = f"writing failed: {error}"

    def _watch_standstills(self) -> None:
        looked_s = time.monotonic()
        while True:
            time.sleep(LOOK_S)
            now_s = time.monotonic()
            if now_s - looked_s > STANDSTILL_S:
                self._standstills.write(f"{looked_s} {now_s}\n")
            looked_s = now_s


def main() -> None:
    """Obey until the end of stdin; what is open then is closed."""
    program = Program(Path(sys.argv[1]), int(sys.argv[2]))
    commands: dict[str, Callable[..., str | None]] = {
        "open": program.open,
        "close": program.close,
        "verify": program.verify,
    }
    print("ready", flush=True)
    for line in sys.stdin:
        name, *arguments = line.split()
        try:
            answer = commands[name](*arguments)
            print(f"ok {answer}" if answer else "ok", flush=True)
        except Exception as error:
            print("error: " + str(error).replace("\n", " "), flush=True)
    program.close()


if __name__ == "__main__":
    main()
