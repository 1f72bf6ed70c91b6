"""SetOptions takes as long as the disk needs for an OPTIONS file: meanwhile the daemon measures and answers."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

from tests.cli.harness import command, log_of, serving
from tests.support.agent_client import UnixConnection
from tests.support.bad_disk import bad_disk, make_good, socket_of
from tests.support.waiting import eventually

#: Small memtables, which overflow at once at this rate.
OPTIONS = ("write_buffer_size=1048576", "compression=kNoCompression")
BYTES_PER_S = 30_000_000
#: One call at a time, and so one OPTIONS file a decision: column-family options only.
POLICY = ("--policy", "adoc", "--set", "tune_threads=false")
DELAY_S = 12
#: How late an answer may come on a busy machine; a loop that waited for the change would be far later.
LATE_S = 10.0


def get(run_dir: Path, path: str) -> Any:
    """Ask the daemon's REST."""
    connection = UnixConnection(run_dir / "daemon.sock", LATE_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return json.loads(response.read())
    finally:
        connection.close()


def status(run_dir: Path) -> Any:
    return json.loads(command("adocctl", "status", "--json", run_dir=run_dir).ok())


def decisions(run_dir: Path) -> list[Any]:
    listed: list[Any] = json.loads(command("adocctl", "decisions", "--json", run_dir=run_dir).ok())
    return listed


def in_flight(run_dir: Path) -> Any:
    """Return the decision that RocksDB works on; None when there is none."""
    return next((one for one in decisions(run_dir) if one["outcome"] == "in-flight"), None)


def test_a_change_in_flight_holds_up_nothing_but_itself(
    run_dir: Path, native_agent_library: Path, native_programs: Path
) -> None:
    with bad_disk(native_programs, native_agent_library, run_dir, DELAY_S, *OPTIONS) as program:
        socket_of(program, run_dir)
        with serving(run_dir, *POLICY):
            eventually(lambda: get(run_dir, "/v1/targets")["targets"], what="the daemon has found it")
            program.ask("write", BYTES_PER_S)
            change = eventually(lambda: in_flight(run_dir), every_s=0.2, what="a change is in flight")
            before = eventually(lambda: (seen := status(run_dir))["lease"] and seen, what="the lease shows")
            looks = 0
            while (now := in_flight(run_dir)) is not None and now["sequence"] == change["sequence"]:
                assert get(run_dir, "/healthz")["status"] == "ok"
                seen = status(run_dir)
                assert seen["state"] == "attached"
                assert seen["lease"]["epoch"] == before["lease"]["epoch"], "it is renewed all the time"
                looks += 1
                time.sleep(1)
            assert looks > 0, "the change was over before anything else was asked"
            done = next(one for one in decisions(run_dir) if one["sequence"] == change["sequence"])
            make_good(program)
            assert done["outcome"] == "applied"
            assert done["elapsed_s"] >= DELAY_S
            samples = get(run_dir, f"/v1/targets/{before['id']}/samples")["samples"]
            gap_s = largest_gap_s(samples, done["monotonic_s"], done["elapsed_s"])
            assert gap_s < done["elapsed_s"] / 2, "a loop that waited for the change would have no sample meanwhile"
            program.ask("write", 0)
    assert "Traceback" not in log_of(run_dir)


def largest_gap_s(samples: list[Any], began_s: float, elapsed_s: float) -> float:
    """Return the longest time without a sample from `began_s` on, while the change was in flight."""
    times: list[float] = [
        sample["monotonic_s"] for sample in samples if 0 <= sample["monotonic_s"] - began_s <= elapsed_s
    ]
    edges = [began_s, *times, began_s + elapsed_s]
    return max(after - before for before, after in itertools.pairwise(edges))


def test_a_second_daemon_is_told_who_holds_the_target(
    run_dir: Path, native_agent_library: Path, native_programs: Path
) -> None:
    """It has a run directory of its own, and so cannot know of the first but by the agent."""
    second = run_dir / "second"
    second.mkdir()
    with bad_disk(native_programs, native_agent_library, run_dir, 0, *OPTIONS) as program:
        socket = socket_of(program, run_dir)
        with serving(run_dir, *POLICY):
            held = eventually(lambda: lease_of(run_dir), what="the first holds it")
            with serving(second, *POLICY, "--agent", str(socket)):
                told = eventually(lambda: sentence_with(second, held["holder"]), what="the second is told")
                assert status(second)["lease"]["holder"] == held["holder"], "it sees whose lease it is"
                assert decisions(second) == []
                mine = lease_of(run_dir)
                assert (mine["holder"], mine["epoch"]) == (held["holder"], held["epoch"]), told
            after = lease_of(run_dir)
            assert after["epoch"] == held["epoch"], "the second gave back nothing that was not its own"


def shown(run_dir: Path) -> Any:
    """Return the one target, None before there is one."""
    done = command("adocctl", "status", "--json", run_dir=run_dir)
    return json.loads(done.out) if done.status == 0 else None


def lease_of(run_dir: Path) -> Any:
    target = shown(run_dir)
    return target and target["lease"]


def sentence_with(run_dir: Path, words: str) -> str | None:
    target = shown(run_dir)
    return target["sentence"] if target and words in target["sentence"] else None
