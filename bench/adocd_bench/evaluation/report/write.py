"""From a directory of raw results to the files of a report; the same raw results always give the same bytes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.plan import FailedRun
from adocd_bench.evaluation.report import html, markdown
from adocd_bench.evaluation.report.as_json import as_json
from adocd_bench.evaluation.report.read import FoundResults, found_in
from adocd_bench.evaluation.report.sections import document
from adocd_bench.evaluation.report.summary import Block, summarise
from adocd_bench.evaluation.search.halving import Searched
from adocd_bench.evaluation.search.sustained import Search

Format = Literal["md", "html", "both"]
MARKDOWN, HTML = "report.md", "report.html"


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of a directory, ready to be written."""

    blocks: tuple[Block, ...]
    failed: tuple[FailedRun, ...]
    searches: Mapping[str, Search]
    grids: tuple[Searched, ...]
    unlike_maximum: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """All figures, for programs."""
        return as_json(self.blocks, self.failed, self.searches, self.grids, self.unlike_maximum)

    def write(self, out: Path, format_: Format) -> list[Path]:
        """Write the report's files below `out`, and name the reports. Raises BadArgument where that cannot be done."""
        whole = document(self.blocks, self.failed, self.searches, self.grids, self.unlike_maximum)
        files: dict[str, str] = {}
        if format_ in ("md", "both"):
            files[MARKDOWN] = markdown.render(whole)
            files |= {f"{markdown.PICTURES}/{each.name}.svg": each.render(alone=True) for each in whole.drawings}
        if format_ in ("html", "both"):
            files[HTML] = html.render(whole)
        try:
            for name, content in files.items():
                (out / name).parent.mkdir(parents=True, exist_ok=True)
                (out / name).write_text(content, encoding="utf-8")
        except OSError as error:
            raise BadArgument(
                f"the report cannot be written to {out} ({error.strerror}): choose another --out"
            ) from None
        return [out / name for name in (MARKDOWN, HTML) if name in files]


def report_of(directories: Sequence[Path]) -> Report:
    """Work out the report of one directory or several. Raises BadArgument where one cannot be read."""
    return report_on([(directory, found_in(directory)) for directory in directories])


def report_on(found: Sequence[tuple[Path, FoundResults]]) -> Report:
    """Work out the report of what was read of each directory. Raises BadArgument as `report_of` does."""
    results = [each for _, each in found]
    return Report(
        blocks=summarise(run for each in results for run in each.runs),
        failed=tuple(failed for each in results for failed in each.failed),
        searches=_searches(found),
        grids=tuple(grid for each in results for grid in each.grids),
        unlike_maximum=tuple(told for each in results for told in each.unlike_maximum),
    )


def _searches(found: Sequence[tuple[Path, FoundResults]]) -> dict[str, Search]:
    """Put all searches together; two of the same block and scheme are told apart as blocks are, by length and scale.

    Raises BadArgument where these are the same, too.
    """
    named = Counter(name for _, each in found for name in each.searches)
    together: dict[str, Search] = {}
    places: dict[str, Path] = {}
    for directory, each in found:
        for name, search in each.searches.items():
            told = f"{name}, {search.seconds} s, scale 1/{search.scale}" if named[name] > 1 else name
            if told in places:
                raise BadArgument(
                    f"{places[told]} and {directory} both have a search named {told}: make a report of each"
                )
            places[told], together[told] = directory, search
    return together
