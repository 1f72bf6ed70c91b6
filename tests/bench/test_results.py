"""Files of results: whole or not at all, and read compressed as they are read plain."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from adocd_bench.errors import BadArgument
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.plan import Folder, RunsAsked, planned
from adocd_bench.evaluation.report.write import report_of
from adocd_bench.results import ResultFile, is_there, results_in
from pydantic import TypeAdapter

from tests.bench.evaluation.report.directory import written

NUMBERS = ResultFile(TypeAdapter(list[int]))


def compress(*files: Path) -> None:
    """Compress as docs/evaluation.md has it."""
    subprocess.run(["xz", *files], check=True)


def test_what_was_compressed_is_read_by_its_old_name_and_by_its_own(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "numbers.json"
    NUMBERS.write(file, [1, 2])
    compress(file)
    assert not file.exists()
    assert is_there(file)
    assert NUMBERS.read(file) == NUMBERS.read_if_there(file) == [1, 2]
    assert NUMBERS.read(file.with_name("numbers.json.xz")) == [1, 2]
    assert results_in(file.parent) == [file]


def test_what_is_written_anew_takes_the_place_of_what_was_compressed(tmp_path: Path) -> None:
    file = tmp_path / "numbers.json"
    NUMBERS.write(file, [1, 2])
    compress(file)
    NUMBERS.write(file, [3])
    assert NUMBERS.read(file) == [3]
    assert results_in(tmp_path) == [file]


def test_a_file_that_is_called_compressed_is(tmp_path: Path) -> None:
    """As in `--keep FILE.json.xz`: what was added to it could not be read again."""
    file = tmp_path / "numbers.json.xz"
    NUMBERS.write(file, [1, 2])
    assert subprocess.run(["xz", "--test", file], check=False).returncode == 0
    NUMBERS.write(file, [*NUMBERS.read(file), 3])
    assert NUMBERS.read(tmp_path / "numbers.json") == [1, 2, 3]


def test_what_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "numbers.json"
    assert not is_there(file)
    assert NUMBERS.read_if_there(file) is None
    assert results_in(tmp_path / "no") == []
    with pytest.raises(BadArgument, match=r"numbers.json cannot be read \(No such file or directory\)"):
        NUMBERS.read(file)


@pytest.mark.parametrize("cut", [0, 10, -1])
def test_a_compressed_file_that_is_cut_short_is_damaged(tmp_path: Path, cut: int) -> None:
    file, compressed = tmp_path / "numbers.json", tmp_path / "numbers.json.xz"
    NUMBERS.write(file, [1, 2])
    compress(file)
    compressed.write_bytes(compressed.read_bytes()[:cut])
    with pytest.raises(BadArgument, match=r"numbers.json is damaged \(.+\): remove it"):
        NUMBERS.read(file)


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadArgument, match=r"numbers.json cannot be written .*: choose another --out"):
        NUMBERS.write(tmp_path / "file" / "numbers.json", [1])


def test_a_report_of_compressed_results_is_the_same_to_the_byte(tmp_path: Path) -> None:
    results = written(tmp_path / "results")
    report_of([results]).write(tmp_path / "plain", "both")
    compress(*(results / "runs").iterdir(), *(results / "failed").iterdir())
    report_of([results]).write(tmp_path / "compressed", "both")
    plain, compressed = (
        {str(file.relative_to(tmp_path / made)): file.read_bytes() for file in (tmp_path / made).rglob("*.*")}
        for made in ("plain", "compressed")
    )
    assert {"report.md", "report.html"} <= plain.keys()
    assert plain == compressed


def test_a_run_that_was_compressed_is_not_made_again(tmp_path: Path) -> None:
    asked = RunsAsked(("default",), ("cap-210",), ("fillrandom",), 10, 2, 1, 1)
    folder = Folder(tmp_path)
    first, second = planned(asked)
    folder.begin(asked)
    kept = written(tmp_path / "other") / "runs"
    folder.file(first).write_bytes(results_in(kept)[0].read_bytes())
    compress(folder.file(first))
    assert folder.left(asked) == [second]
    assert raw.read(folder.file(first)).format == raw.FORMAT
