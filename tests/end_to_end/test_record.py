"""A real RocksDB that stalls is recorded for some seconds, and every law replayed on it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from adocd.controllers import registry
from tests.cli.harness import command, serving
from tests.cli.test_replay import parameters, replay
from tests.end_to_end.test_main_job import PROGRAMS, Writing
from tests.support.waiting import eventually

SECONDS = 6


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_a_real_database_is_recorded_and_every_law_replayed(
    run_dir: Path, native_agent_library: Path, program: Writing
) -> None:
    file = run_dir / "real.jsonl.gz"
    with program.running(run_dir), serving(run_dir):
        eventually(
            lambda: json.loads(command("adocctl", "targets", "--json", run_dir=run_dir).out)["targets"],
            what="it is attached",
        )
        began_s = time.monotonic()
        command("adocctl", "record", str(file), "--seconds", str(SECONDS), run_dir=run_dir).ok()
        took_s = time.monotonic() - began_s
    assert took_s >= SECONDS
    print(f"{program.name}: {file.stat().st_size} bytes for {SECONDS} s")
    for law in registry.LAWS:
        found = replay(run_dir, file, law, *parameters(law))
        decided = [f"{each['rule']} at {each['time_s']:.1f} s" for each in found["decisions"]]
        print(f"{law}: {decided}, again {found['same_again']}, {[idle['why'] for idle in found['idle']]}")
        # One each second; where other programs have the processors the first may come late.
        assert SECONDS / 4 < found["samples"] <= found["seconds"] + 1
        assert found["seconds"] <= took_s + 1
        assert (found["damaged_lines"], found["torn"], found["missed"]) == (0, False, 0)
        assert found["rocksdb_version"]
        if law == "adoc":
            # Which of its rules comes first depends on how fast this machine flushes.
            assert any(each["rule"].startswith("adoc.") for each in found["decisions"])
