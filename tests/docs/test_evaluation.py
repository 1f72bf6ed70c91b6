"""The report that is kept is what its raw results come to, to the byte."""

from __future__ import annotations

from pathlib import Path

from adocd_bench.evaluation.report.write import report_of

from tests.bench.kept import RESULTS, needs_results
from tests.conftest import REPOSITORY

KEPT = REPOSITORY / "docs" / "evaluation"


@needs_results
def test_the_kept_report_is_of_the_kept_raw_results(tmp_path: Path) -> None:
    report_of(sorted((RESULTS / "evaluation").iterdir())).write(tmp_path, "md")
    made = {str(file.relative_to(tmp_path)): file.read_text() for file in tmp_path.rglob("*") if file.is_file()}
    kept = [KEPT / "report.md", *(KEPT / "pictures").iterdir()]
    assert {str(file.relative_to(KEPT)): file.read_text() for file in kept} == made
