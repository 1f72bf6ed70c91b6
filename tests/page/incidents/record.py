"""Records the incidents anew: `python -m tests.page.incidents.record NAME`, two minutes each, on a real db_bench.

A recording is REST's answers at the end of the incident, packed; tests/page/incidents/replay.py serves them.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.cli.harness import NOWHERE, command, start
from tests.page.browser import MIB, Site, site
from tests.support.waiting import eventually

HERE = Path(__file__).parent
#: How many seconds of the incident the recording needs: enough for a verdict.
_LONG_S = 40
_TIGHT = ("--level0_slowdown_writes_trigger=8", "--level0_stop_writes_trigger=12", f"--write_buffer_size={MIB}",
          f"--target_file_size_base={MIB}", f"--max_bytes_for_level_base={4 * MIB}")  # fmt: skip
_ROOMY = (f"--write_buffer_size={8 * MIB}", "--max_background_jobs=4")


@contextlib.contextmanager
def _written(run_dir: Path, *flags: str) -> Iterator[int]:
    """Run a db_bench; its process id."""
    program = start(
        "adocd", "exec", "--", "db_bench", "--benchmarks=fillrandom", f"--db={run_dir / 'db'}", "--value_size=1000",
        "--compression_type=none", "--num=200000", "--writes=100000000", "--duration=600",
        "--benchmark_write_rate_limit=12000000", *flags,
        env=dict(os.environ) | {"ADOCD_RUN_DIR": str(run_dir)}, out=NOWHERE, err=NOWHERE,
    )  # fmt: skip
    try:
        yield program.pid
    finally:
        program.send_signal(signal.SIGCONT)
        program.send_signal(signal.SIGTERM)
        program.wait(60)


def _measured(at: Site, seconds: float) -> None:
    """Wait until so many more seconds are measured."""
    path = f"/v1/targets/{at.target()}/history?points=1"
    begin = at.call("GET", path)["points"][-1]["unix_s"]
    eventually(
        lambda: at.call("GET", path)["points"][-1]["unix_s"] >= begin + seconds, within_s=5 * seconds, every_s=1.0
    )


def _stall(at: Site, _pid: int) -> None:
    _measured(at, 2 * _LONG_S)


def _bad_law(at: Site, _pid: int) -> None:
    _measured(at, _LONG_S)
    command("adocctl", "set-policy", "manual", "--set", "level0_slowdown_trigger=4", run_dir=at.run_dir).ok()
    _measured(at, _LONG_S)


def _lost_agent(at: Site, _pid: int) -> None:
    _measured(at, _LONG_S)
    os.kill(at.detail()["process"]["pid"], signal.SIGSTOP)
    eventually(lambda: _only_target(at)["state"] == "silent", what="silence")


def _only_target(at: Site) -> dict[str, Any]:
    """Return the one target of the list, whatever its state."""
    (target,) = at.call("GET", "/v1/targets")["targets"]
    return dict(target)


def _pinned_option(at: Site, _pid: int) -> None:
    _measured(at, _LONG_S)
    command("adocctl", "override", "set", "write_buffer_size=2MiB", "--for", "1h", "--reason", "a bulk load",
            run_dir=at.run_dir).ok()  # fmt: skip
    _measured(at, _LONG_S)


INCIDENTS: dict[str, tuple[Callable[[Site, int], None], tuple[str, ...], tuple[str, ...]]] = {
    "stall": (_stall, ("--policy", "adoc", "--dry-run"), _TIGHT),
    "bad-law": (_bad_law, (), _ROOMY),
    "lost-agent": (_lost_agent, ("--policy", "adoc"), _TIGHT),
    "pinned-option": (_pinned_option, ("--policy", "adoc"), _TIGHT),
}


def answers(at: Site) -> dict[str, Any]:
    """Ask REST what the page asks."""
    target = f"/v1/targets/{_only_target(at)['id']}"
    paths = ["/healthz", "/v1/targets", "/v1/controllers", "/v1/operations", target]
    paths += [f"{target}/{part}" for part in ("decisions", "overrides", "lint", "verdict", "diagnosis", "policy")]
    found = {path: at.call("GET", path) for path in paths}
    return found | {f"{target}/history": at.call("GET", f"{target}/history?resolution=1s&points=900")}


def main(name: str) -> None:
    """Let one incident happen, and record it."""
    happens, served, flags = INCIDENTS[name]
    with tempfile.TemporaryDirectory(prefix="adocd-") as directory:
        run_dir = Path(directory)
        with site(run_dir, *served) as at, _written(run_dir, *flags) as pid:
            happens(at, pid)
            recording = {"unix_s": time.time(), "answers": answers(at)}
    words = json.dumps(recording, separators=(",", ":")).replace(str(run_dir), "/var/lib/shop")
    (HERE / f"{name}.json.gz").write_bytes(gzip.compress(words.encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
