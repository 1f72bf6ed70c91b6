"""A program that stalls under the Python agent: it writes through rocksdict until its time is up.

    python -m adocd_bench.programs.stalling_program DIRECTORY SECONDS RATE_BYTES_PER_S OPTIONS

A put keeps the interpreter lock while its write is stalled, so the agent stands still with everything else. OPTIONS is
a JSON object of rocksdict's setters without their `set_`; the rate is that of flushes and compactions.
"""

import json
import random
import sys
import time

import adocd_agent
from rocksdict import DBCompressionType, Options, Rdict

from adocd_bench.programs.fill import KEY_BYTES, VALUE_BYTES

_REFILL_US = 100_000
_FAIRNESS = 10


def main() -> None:
    """Write what the command line names."""
    directory, seconds, rate_bytes_per_s, chosen = sys.argv[1:]
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.enable_statistics()
    options.set_compression_type(DBCompressionType.none())
    options.set_ratelimiter(int(rate_bytes_per_s), _REFILL_US, _FAIRNESS)
    for name, value in json.loads(chosen).items():
        getattr(options, f"set_{name}")(value)
    database = Rdict(directory, options)
    random_bytes, put, value = random.Random(1).randbytes, database.put, bytes(VALUE_BYTES)  # noqa: S311
    with adocd_agent.attach(database, options) as agent:
        if agent.error is not None:
            sys.exit(f"the agent could not start: {agent.error}")
        end_s = time.monotonic() + float(seconds)
        while time.monotonic() < end_s:
            put(random_bytes(KEY_BYTES), value)
    database.close()


if __name__ == "__main__":
    main()
