"""A wall clock for one process that can be set."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path


class WallClock:
    """Whoever runs in this environment has a wall clock that is off by as much as was said last."""

    def __init__(self, directory: Path, native_programs: Path) -> None:
        self._path = directory / "clock"
        self._path.write_bytes(bytes(8))
        library = native_programs / "libshifted_clock.so"
        self.environment = {"LD_PRELOAD": str(library), "SHIFTED_CLOCK_FILE": str(self._path)}

    def set(self, ahead_s: int) -> None:
        """Set it so many seconds ahead of the true time."""
        with self._path.open("r+b", buffering=0) as file:
            file.write(struct.pack("=q", ahead_s))

    def read_s(self) -> float:
        """Let a Python process in this environment say what time it is, in seconds since the epoch."""
        asked = [sys.executable, "-c", "import time; print(time.time())"]
        done = subprocess.run(asked, capture_output=True, check=True, env=dict(os.environ) | self.environment)
        return float(done.stdout)
