"""How a paper's sentence on the rate that lasts is held against our searches for it."""

from dataclasses import dataclass

from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.claims import ClaimFinding, ClaimVerdict
from adocd_bench.evaluation.report.summary import Block
from adocd_bench.evaluation.search.sustained import CLOSE, RUNNING_SHARE, Search

#: Rates are rounded.
_ROUNDING = 0.01


@dataclass(frozen=True, slots=True)
class Lasts:
    """The highest rate that lasts under a scheme is at most a share of the maximum in a closed loop.

    A search knows two rates: the highest that lasts, and the lowest above it that does not. The rate that lasts is at
    most `share` where the first is, and the second is no more than a bisection's resolution above it; if none lasted,
    where the lowest rate that was tried is at most `share`. The opposite is what the running phase presumes: that 95 %
    of the maximum last. Rates tried for less than `least_s` each say nothing.
    """

    scheme: str
    share: float
    least_s: float

    def words(self) -> str:
        """Say the rule in a sentence."""
        return (
            f"the rate that lasts under {self.scheme}: at most {words.share(self.share)} of the maximum, by bisection; "
            f"the opposite is {words.share(RUNNING_SHARE)} or more; {words.span(self.least_s)} at each rate at least"
        )

    def schemes(self) -> tuple[str, ...]:
        """Name them."""
        return ()

    def judge(self, block: Block) -> ClaimFinding | None:
        """No block speaks to it: it is a search of its own."""
        del block
        return None

    def judge_search(self, name: str, search: Search) -> ClaimFinding | None:
        """Hold it against a search, named by block and scheme, and by what tells it apart from another of the same."""
        if not name.partition(",")[0].endswith(f"-{self.scheme}"):
            return None
        fails = None if search.fails_per_s is None else search.fails_per_s / search.maximum_per_s
        ours = f"{words.digits(search.lasts_per_s)} operations/s last, {words.share(search.share)} of the maximum"
        if not search.lasts_per_s:
            lowest = "no rate was tried" if fails is None else f"the lowest was {words.share(fails)} of the maximum"
            ours = f"none of the rates tried lasts; {lowest}"
        if search.seconds < self.least_s:
            return ClaimFinding(name, "not shown", f"{ours}; {words.span(search.seconds)} at each rate")
        return ClaimFinding(name, self._verdict(search, fails), ours)

    def _verdict(self, search: Search, fails: float | None) -> ClaimVerdict:
        if search.share >= RUNNING_SHARE - _ROUNDING:
            return "opposite direction"
        near = self.share + (CLOSE if search.lasts_per_s else 0.0)
        at_most = search.share <= self.share and fails is not None and fails <= near
        return "direction" if at_most else "not shown"
