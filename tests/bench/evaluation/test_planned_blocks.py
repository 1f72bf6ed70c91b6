"""What bench/evaluation.sh plans: commands name what there is, blocks compare equal memory, devices can keep up."""

from __future__ import annotations

import json
import os
import subprocess
from argparse import ArgumentParser, Namespace
from dataclasses import astuple
from pathlib import Path

import pytest
from adocd_bench.evaluation import memory
from adocd_bench.evaluation.circumstances import Circumstances
from adocd_bench.evaluation.loads.generated import GeneratedLoad
from adocd_bench.evaluation.loads.workloads import LoadAsked, workload
from adocd_bench.evaluation.raw import BASELINE
from adocd_bench.evaluation.schemes import SCHEMES
from adocd_bench.host.device import MB, parse_profile
from adocd_bench.programs.fill import KEY_BYTES
from adocd_bench.programs.native import NativeProgram

from tests.bench.kept import RESULTS, needs_results

SCRIPT = Path(__file__).parents[3] / "bench" / "evaluation.sh"
#: It stands where `adocd` would, and writes down what it was asked.
_WRITES_DOWN = '#!/bin/sh\necho "$@" >>"$ASKED"\n'
#: What RocksDB writes for each byte of random updates, the write-ahead log included, where it merges as they come.
_WRITTEN_TIMES = 6.2
#: Peaks and waves: on average they are more than their device can merge, and are planned so.
_FLOODS = {
    *(f"sine-{seconds}" for seconds in (350, 700, 1000)),
    *(f"peaks-{seconds}-4kb" for seconds in (10, 50, 100)),
    "trace-bursts-4kb",
}


def carried_out(place: Path, stand_in: str) -> tuple[int, list[str]]:
    """Run the script with this in place of `adocd`; its exit code, and what it asked for."""
    (place / "adocd").write_text(stand_in)
    (place / "adocd").chmod(0o755)
    asked = place / "asked"
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "ASKED": str(asked)}
    whole = ["env", "--default-signal=INT", "bash", str(SCRIPT)]
    ended = subprocess.run(whole, cwd=place, env=environment, check=False, capture_output=True)
    return ended.returncode, asked.read_text().splitlines()


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> list[Namespace]:
    status, asked = carried_out(tmp_path_factory.mktemp("planned"), _WRITES_DOWN)
    assert status == 0
    lines = dict.fromkeys(asked)
    parser = ArgumentParser(allow_abbrev=False, exit_on_error=False)
    for name in ("group", "command"):
        parser.add_argument(name)
    for name in ("--out", "--scheme", "--profile", "--workload"):
        parser.add_argument(name)
    for name in ("--repeat", "--seconds", "--scale", "--at-once", "--device-gb"):
        parser.add_argument(name, type=int, default=1)
    return [parser.parse_args(line.split()) for line in lines]


def test_every_command_names_what_there_is(planned: list[Namespace]) -> None:
    assert len({Path(each.out).name for each in planned}) > 10
    assert {each.command for each in planned} == {"run", "sustainable"}
    for each in planned:
        names = each.scheme.split(",")
        assert set(names) <= SCHEMES.keys(), each.out
        assert len(names) == len(set(names)), each.out
        for profile in each.profile.split(","):
            parse_profile(profile)
        if each.workload:
            for name in each.workload.split(","):
                workload(name)


def test_a_scheme_with_more_memory_has_its_twin_in_the_block(planned: list[Namespace]) -> None:
    for each in planned:
        if each.command != "run":  # rates that last are compared with the maximum, and have no block
            continue
        here = Circumstances(each.scale, 210 * MB, 150 * MB, {}, {})
        block = [SCHEMES[name].used(here) for name in each.scheme.split(",")]
        baseline = next(used for used in block if used.name == BASELINE)
        missing = [used.name for used in block if memory.twin(used, baseline, block) is None]
        assert not missing, (each.out, missing)


def test_a_closed_loop_that_compares_throughput_has_the_best_grid(planned: list[Namespace]) -> None:
    """Except for two identical schemes, and the rates that last, which are not throughput."""
    closed = [each for each in planned if each.workload == "fillrandom" and "default-again" not in each.scheme]
    assert len(closed) > 5
    for each in closed:
        assert memory.WITHIN_GRID in each.scheme.split(","), each.out


def test_an_open_loop_offers_what_its_device_can_merge_unless_it_is_a_flood(
    planned: list[Namespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NativeProgram, "find_or_build", lambda *_: Path("/usr/bin/adocd-load"))
    too_much, found = set(), set()
    for each in planned:
        for name in each.workload.split(",") if each.workload else ():
            if workload(name).needs_maximum:  # what the device can do is measured first
                continue
            load = workload(name).program(LoadAsked(each.seconds, each.scale))
            if not isinstance(load, GeneratedLoad) or load.offered_per_s is None:
                continue
            found.add(name)
            mix = load.work.operations
            writes = (mix.update + mix.insert + mix.read_modify_write) / sum(astuple(mix))
            written = _WRITTEN_TIMES * load.offered_per_s * writes * (KEY_BYTES + load.value_bytes)
            if written > (parse_profile(each.profile).write_bytes_per_s or 0):
                too_much.add(name)
    assert too_much == _FLOODS
    assert "burst-lapse" in found


def test_what_lasts_and_two_phases_share_a_maximum(planned: list[Namespace]) -> None:
    both = [each for each in planned if each.workload == "two-phase"]
    assert len(both) == 2
    for phases in both:
        (lasts,) = (each for each in planned if each.command == "sustainable" and each.out == phases.out)
        shared = ("profile", "seconds", "scale", "at_once", "device_gb")
        assert [getattr(lasts, name) for name in shared] == [getattr(phases, name) for name in shared]


def test_a_failed_run_does_not_keep_the_next_blocks_from_being_made(planned: list[Namespace], tmp_path: Path) -> None:
    fails = f'{_WRITES_DOWN}case "$*" in *twins-cap-210*) exit 1 ;; esac\n'
    status, asked = carried_out(tmp_path, fails)
    assert status == 1
    assert len(dict.fromkeys(asked)) == len(planned)


def test_ctrl_c_ends_the_script_although_adocd_ends_as_with_a_failed_run(tmp_path: Path) -> None:
    status, asked = carried_out(tmp_path, f'{_WRITES_DOWN}kill -INT "$PPID"\nexit 1\n')
    assert (status, len(asked)) == (130, 1)


@needs_results
def test_what_was_kept_is_a_part_of_what_is_planned(planned: list[Namespace]) -> None:
    """So the script goes on in it, instead of being refused."""
    found = 0
    for each in planned:
        file = RESULTS / "evaluation" / Path(each.out).name / "plan.json"
        if each.command != "run" or not file.exists():
            continue
        plan = json.loads(file.read_text())
        asked = {name: set(getattr(each, name).split(",")) for name in ("scheme", "profile", "workload")}
        for kind, names in asked.items():
            assert set(plan[f"{kind}s"]) <= names, (each.out, kind)
        assert plan["scale"] == each.scale, each.out
        assert plan.get("at_once", 1) == each.at_once, each.out
        found += 1
    assert found > 5
