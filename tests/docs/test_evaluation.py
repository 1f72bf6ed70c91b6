"""The report that is kept is what its raw results come to, to the byte."""

from __future__ import annotations

import re
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


def test_what_the_page_says_of_the_newer_blocks() -> None:
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    report = (KEPT / "report.md").read_text()
    found = re.search(r"told them apart in (\d+ of \d+) cases .*: (\d+) measures .* told them apart in (\S+ %)", report)
    assert found is not None
    fives, measures, any_five = found.groups()
    assert f"the rule told them apart in {fives} cases ({measures} measures," in page
    assert f"and in {any_five} of cases for any five pairs" in page
    log = report.partition("## The write-ahead log under the cap and outside it")[2]
    ratio = re.search(r"\| default \| operations/s over run, restore and drain \|.*: ([\d.]+) \(", log)
    assert ratio is not None
    assert f"`default` wrote more with the log under the cap: {ratio[1]} times the operations over run, restore" in page
