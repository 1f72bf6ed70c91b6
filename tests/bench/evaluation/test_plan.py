"""Which runs there are, in which order, and what is left of them."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn, cast

import pytest
from adocd_bench.errors import BadArgument
from adocd_bench.evaluation import raw, runs
from adocd_bench.evaluation.lanes import Lanes
from adocd_bench.evaluation.plan import (
    FAILURES,
    FailedRun,
    Folder,
    Planned,
    RunsAsked,
    block_name,
    checked,
    planned,
)
from adocd_bench.evaluation.runs import carry_out
from adocd_bench.evaluation.setting import RunSite
from adocd_bench.programs.native import NativeProgram
from rich.console import Console

from tests.bench.evaluation.builders import run_of, wanted_run

ASKED = RunsAsked(("default", "adoc", "silk"), ("cap-50", "cap-25"), ("fillrandom", "overwrite"), 10, 3)


def test_each_scheme_runs_once_in_each_repetition_of_each_block() -> None:
    runs = list(planned(ASKED))
    assert len(runs) == len({run.name for run in runs}) == 3 * 2 * 2 * 3
    counted = Counter((run.block, run.repetition) for run in runs)
    assert set(counted.values()) == {3}


def test_repetitions_follow_each_other_and_each_begins_with_another_scheme() -> None:
    block = [run for run in planned(ASKED) if run.block == "cap-50-fillrandom"]
    assert [run.repetition for run in block] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [run.scheme for run in block[::3]] == ["default", "adoc", "silk"]


def test_all_schemes_of_a_repetition_write_the_same_keys_and_repetitions_others() -> None:
    seeds = {(run.repetition, run.seed) for run in planned(replace(ASKED, seed=7))}
    assert seeds == {(1, 7), (2, 8), (3, 9)}


def test_every_plan_has_the_baseline_and_names_nothing_twice() -> None:
    found = checked(RunsAsked(("adoc", "adoc"), ("cap-50", "cap-50"), ("read-while-writing", "readwhilewriting"), 5, 1))
    assert found.schemes == ("default", "adoc")
    assert (found.profiles, found.workloads) == (("cap-50",), ("readwhilewriting",))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"schemes": ("adox",)},
            r"there is no scheme 'adox': use some of default, default-again, .*bad$",
        ),
        ({"profiles": ("fast",)}, r"there is no device profile 'fast'"),
        ({"workloads": ("fill",)}, r"there is no workload 'fill': use some of fillrandom, .*trace:FILE$"),
        ({"workloads": ("trace:/no/such",)}, r"the trace /no/such cannot be read"),
        ({"seconds": 4}, r"--seconds must be from 5 to 86400, not 4$"),
        ({"repeat": 0}, r"--repeat must be from 1"),
        ({"scale": 65}, r"--scale must be from 1 to 64, not 65$"),
        ({"at_once": 0}, r"--at-once must be from 1 to 64, not 0$"),
        (
            {"at_once": 2, "profiles": ("cap-50", "uncapped")},
            r"its own for each run, which uncapped does not",
        ),
        (
            {"at_once": 2, "profiles": ("cap-50-wal-outside",)},
            r"cap-50-wal-outside does not give: use a profile cap",
        ),
        ({"device_gb": 0}, r"--device-gb must be at least 1, not 0$"),
        ({"rate_per_s": 0.0}, r"--rate must be above 0"),
        ({"rate_per_s": float("nan")}, r"--rate must be above 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadArgument, match=sentence):
        checked(replace(ASKED, **change))  # type: ignore[arg-type]


def test_a_plan_is_resumed_where_it_stopped(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")
    folder.begin(ASKED)
    first, *others = planned(ASKED)
    folder.file(first).write_text("{}")
    again = Folder(tmp_path / "out")
    again.begin(ASKED)
    assert again.left(ASKED) == others


@pytest.mark.parametrize(
    "more",
    [
        replace(ASKED, repeat=ASKED.repeat + 1),
        replace(ASKED, schemes=("default", "tide", "adoc", "silk")),
        replace(ASKED, profiles=("cap-50", "cap-25", "cap-10")),
        replace(ASKED, workloads=("ycsb-a", "fillrandom", "overwrite")),
    ],
    ids=["repetitions", "schemes", "profiles", "workloads"],
)
def test_a_plan_is_given_more_and_never_less(tmp_path: Path, more: RunsAsked) -> None:
    Folder(tmp_path).begin(ASKED)
    Folder(tmp_path).file(next(planned(ASKED))).write_text("{}")
    Folder(tmp_path).begin(more)
    names, before = ({(run.block, run.scheme, run.repetition) for run in planned(each)} for each in (more, ASKED))
    assert before < names, "what is kept is a part of what is asked"
    with pytest.raises(
        BadArgument, match=r"another plan \([a-z]+ [^()]*, not [^()]*\): give the same options to resume"
    ):
        Folder(tmp_path).begin(ASKED)


@pytest.mark.parametrize(
    "made", ["runs/cap-50-ycsb-a-default-1.json", "failed/x.json", "grids/x.json", "measured.json"]
)
def test_another_plan_in_the_same_directory_is_refused(tmp_path: Path, made: str) -> None:
    Folder(tmp_path).begin(ASKED)
    (tmp_path / made).parent.mkdir(exist_ok=True)
    (tmp_path / made).write_text("{}")
    with pytest.raises(BadArgument, match=r"another plan \(seconds 10, not 20\): give the same options to resume"):
        Folder(tmp_path).begin(replace(ASKED, seconds=20))


def test_a_plan_of_which_nothing_came_makes_way(tmp_path: Path) -> None:
    """As after a command that was refused: its device was too small, say."""
    Folder(tmp_path).begin(ASKED)
    corrected = replace(ASKED, device_gb=30)
    Folder(tmp_path).begin(corrected)
    Folder(tmp_path).file(next(planned(ASKED))).write_text("{}")
    with pytest.raises(BadArgument, match=r"device_gb 30, not None"):
        Folder(tmp_path).begin(ASKED)


def test_runs_with_the_wal_outside_a_cap_of_the_same_name_are_not_continued(tmp_path: Path) -> None:
    """They are from before there were devices of the run's own."""
    asked = replace(ASKED, profiles=("cap-50",), workloads=("fillrandom",))
    folder, run = Folder(tmp_path), next(planned(asked))
    folder.begin(asked)
    raw.write(folder.file(run), replace(run_of(wanted_run(), ()), wal_outside_cap=True))
    with pytest.raises(BadArgument, match=r"is now called cap-50-wal-outside: choose another --out$"):
        carry_out(asked, tmp_path, tmp_path, Console(quiet=True))


def test_a_workload_that_has_its_own_length_takes_as_long_whatever_seconds_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan of the thesis's longest waves promised four minutes, and took an hour."""

    class Begun(Exception):
        """Raised in place of the first run."""

    def begin(*_: object) -> NoReturn:
        raise Begun

    monkeypatch.setattr(NativeProgram, "find_or_build", lambda *_: Path("/usr/bin/adocd-load"))
    monkeypatch.setattr(runs, "_there", lambda *_: nullcontext())
    for prepared in ("prepare", "_resolve", "_search"):
        monkeypatch.setattr(runs, prepared, lambda *_: None)
    monkeypatch.setattr(runs, "_make", begin)
    asked = RunsAsked(("default",), ("cap-13",), ("sine-700",), 60, 3)
    said = io.StringIO()
    with pytest.raises(Begun):
        carry_out(asked, tmp_path, tmp_path, Console(file=said, width=200))
    assert said.getvalue() == "3 of 3 runs to make, which takes about 36 min\n"


def test_a_damaged_plan_and_a_file_in_its_place_are_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(BadArgument, match="is no plan of adocd bench"):
        Folder(tmp_path).begin(ASKED)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadArgument, match="choose another --out"):
        Folder(tmp_path / "file").begin(ASKED)


def test_a_failure_is_kept_with_its_attempts_also_when_it_succeeds(tmp_path: Path) -> None:
    """A run that a scheme made fail is no less so because a later attempt was lucky."""
    folder, run = Folder(tmp_path), Planned("adoc", "cap-50", "fillrandom", 1, 1)
    folder.begin(ASKED)
    folder.fail(run, "db_bench failed")
    folder.fail(run, "db_bench failed again")
    (file,) = folder.failed.iterdir()
    kept = {"run": "cap-50-fillrandom-adoc-1", "sentence": "db_bench failed again", "attempts": 2}
    assert json.loads(file.read_text()) == kept | {"succeeded": False}
    assert run in folder.left(ASKED)
    raw.write(folder.file(run), run_of(wanted_run(), ()))
    folder.succeed(run)
    assert json.loads(file.read_text()) == kept | {"succeeded": True}
    assert run not in folder.left(ASKED)


def test_a_run_that_is_made_again_and_fails_has_failed_once_more(tmp_path: Path) -> None:
    folder, run = Folder(tmp_path), Planned("adoc", "cap-50", "fillrandom", 1, 1)
    folder.begin(ASKED)
    folder.succeed(run)
    assert not list(folder.failed.iterdir()), "it never failed"
    folder.fail(run, "db_bench failed")
    folder.succeed(run)
    folder.fail(run, "the disk was too small")
    (file,) = folder.failed.iterdir()
    assert FAILURES.read(file) == FailedRun(run.name, "the disk was too small", 2)
    file.write_text("{")
    folder.fail(run, "a record that is damaged tells nothing")
    assert FAILURES.read(file).attempts == 1


def test_a_block_can_be_a_files_name() -> None:
    assert block_name("cap-50", "trace:/Data/My trace.csv") == "cap-50-trace-data-my-trace.csv"


@pytest.mark.parametrize(
    ("lanes", "gathers", "together"), [(3, True, True), (8, True, True), (2, True, False), (3, False, False)]
)
def test_runs_are_measured_together_where_all_go_on_at_once_and_each_can_wait(
    monkeypatch: pytest.MonkeyPatch, lanes: int, gathers: bool, together: bool
) -> None:
    """Where one begins when another ends, waiting for each other could take for ever."""
    asked = replace(ASKED, profiles=("cap-50",), workloads=("ycsb-a",), repeat=1)
    left = list(planned(asked))
    monkeypatch.setattr(runs, "program", lambda *_: SimpleNamespace(gathers=gathers))
    there = cast("RunSite", SimpleNamespace(lanes=Lanes(lanes)))
    found = runs._gathering(there, asked, left, runs._Searched())
    assert [found.arrive(run.name) for run in left] == ([False, False, True] if together else [True, True, True])
    alone = runs._gathering(there, asked, left[:1], runs._Searched())
    assert alone.arrive(left[0].name), "it has nobody to wait for"


def test_an_extension_that_is_refused_leaves_the_plan_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else neither the old command went on nor the new one."""
    folder, asked = Folder(tmp_path), RunsAsked(("default",), ("cap-50",), ("fillrandom",), 10, 1)
    folder.begin(asked)
    folder.file(next(planned(asked))).write_text("{}")

    def refuses(*_: object) -> NoReturn:
        raise BadArgument("the disk is too slow for cap-490")

    monkeypatch.setattr(runs, "_there", refuses)
    monkeypatch.setattr(runs, "_refuse_other_caps", lambda *_: None)
    monkeypatch.setattr(runs, "_walls_s", lambda *_: [])
    with pytest.raises(BadArgument, match="too slow for cap-490"):
        carry_out(replace(asked, profiles=("cap-50", "cap-490")), tmp_path, None, Console(file=io.StringIO()))
    Folder(tmp_path).check(asked)
