"""What bench/evaluation.sh plans: every command names what there is, and every block compares equal memory."""

from __future__ import annotations

import json
import os
import subprocess
from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest
from adocd_bench.evaluation import memory
from adocd_bench.evaluation.circumstances import Circumstances
from adocd_bench.evaluation.loads.workloads import workload
from adocd_bench.evaluation.schemes import BASELINE, SCHEMES
from adocd_bench.host.device import MB, parse_profile

from tests.bench.kept import RESULTS, needs_results

SCRIPT = Path(__file__).parents[3] / "bench" / "evaluation.sh"
#: It stands where `adocd` would, and writes down what it was asked.
_WRITES_DOWN = '#!/bin/sh\necho "$@" >>"$ASKED"\n'


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> list[Namespace]:
    place = tmp_path_factory.mktemp("planned")
    (place / "adocd").write_text(_WRITES_DOWN)
    (place / "adocd").chmod(0o755)
    asked = place / "asked"
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "ASKED": str(asked)}
    subprocess.run(["bash", SCRIPT], cwd=place, env=environment, check=True)
    lines = dict.fromkeys(asked.read_text().splitlines())
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


@needs_results
def test_what_was_kept_is_a_part_of_what_is_planned(planned: list[Namespace]) -> None:
    """So the script goes on in it, instead of being refused."""
    found = 0
    for each in planned:
        file = RESULTS / "evaluation" / Path(each.out).name / "plan.json"
        if not file.exists():
            continue
        plan = json.loads(file.read_text())
        asked = {name: set(getattr(each, name).split(",")) for name in ("scheme", "profile", "workload")}
        for kind, names in asked.items():
            assert set(plan[f"{kind}s"]) <= names, (each.out, kind)
        assert plan["scale"] == each.scale, each.out
        assert plan.get("at_once", 1) == each.at_once, each.out
        found += 1
    assert found > 5
