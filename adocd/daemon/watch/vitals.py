"""The daemon's metrics of itself: counters and histograms, cumulative since its start. Pure, and cheap to keep."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from adocd.daemon.change.actuator import Result
from adocd.daemon.change.guards.guard import Note
from adocd.daemon.change.ledger import Deviation
from adocd.model.decision_record import DecisionRecord, Outcome
from adocd.model.sample import Sample
from adocd.model.stall import COUNTS, Cause, Held
from adocd.model.values import OptionName, of_database

#: In seconds: from an agent that answers at once to a change held by a long stall.
LATENCY_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: Most rule names counted: a third-party law may invent a new one each time, and each is a time series for ever.
_RULES_MOST = 200
#: Most column family names counted, because these come and go, too.
_NAMES_MOST = 1000
_OTHER = "other"
#: Outcomes without a SetOptions time: nothing was sent, or the target could not be reached.
_NOT_SENT: tuple[Outcome, ...] = ("refused", "failed")
#: Prefixes of rules that are not a law's: they may reverse a law's change without being the law's oscillation.
_NOT_A_LAW = ("actuator.", "operator.", "safety.", "daemon.", "judge.")
#: Laws say it anew each second, in turn with a value one byte higher (adocd.controllers.admitted).
_NO_OSCILLATION = of_database("delayed_write_rate")


class TimeHistogram:
    """A histogram of durations in seconds: counts by upper bound, the sum and the number."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...] = LATENCY_BOUNDS_S) -> None:
        self.bounds = bounds
        #: Counts by the smallest bound that a value does not exceed; the last is for values above all bounds.
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value, in seconds."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class LoopVitals:
    """Metrics of all targets' loops together, and of discovery; times are seconds of the daemon's clock."""

    def __init__(self) -> None:
        #: Duration of a cycle.
        self.duration = TimeHistogram()
        #: How much later than due a cycle began: the delay of control by a busy machine, or by the daemon itself.
        self.lateness = TimeHistogram()
        #: How long each cyclic garbage collection stopped the process.
        self.garbage = TimeHistogram()
        #: When agents were last searched for; None before the first time.
        self.discovered_s: float | None = None
        #: When the configuration was last applied, in seconds since the epoch, and whether the last attempt succeeded.
        self.configured_unix_s: float | None = None
        self.is_configured = True
        #: Why TCP is not served yet although it is configured, in one sentence.
        self.web_problem: str | None = None


class TargetVitals:
    """Metrics of one target, across all its sessions."""

    def __init__(self) -> None:
        #: Decisions whose outcome is known, by rule and outcome.
        self.decisions: Counter[tuple[str, Outcome]] = Counter()
        #: Options that changed after we had set them, by outcome.
        self.deviations: Counter[Outcome] = Counter()
        #: Refusals, by guard; a repeated refusal counts again.
        self.refusals: Counter[str] = Counter()
        #: How often the law reversed an option's direction, by option.
        self.reversals: Counter[str] = Counter()
        #: RocksDB's own counts of write stalls, by column family, cause and condition.
        self.stalls: Counter[tuple[str, Cause, Held]] = Counter()
        #: From announcing a change to its read-back: the journal write and SetOptions.
        self.actuation = TimeHistogram()
        #: How long the agent took to answer a snapshot request.
        self.answer = TimeHistogram()
        #: When the last sample was taken, and when a cycle last ended, even in failure, by the loop's clock.
        self.sampled_s: float | None = None
        self.ticked_s: float | None = None
        #: The loop's present interval between cycles, in seconds; a changed tick_s applies when it next wakes.
        self.tick_s = 0.0
        self._directions: dict[OptionName, bool] = {}

    def decided(self, record: DecisionRecord) -> None:
        """Count a decision whose outcome is known."""
        rule = record.rule
        if len(self.decisions) >= _RULES_MOST and (rule, record.outcome) not in self.decisions:
            rule = _OTHER
        self.decisions[rule, record.outcome] += 1
        if record.outcome in ("applied", "applied-unpersisted") and not record.rule.startswith(_NOT_A_LAW):
            self._turned(record)

    def sent(self, result: Result) -> None:
        """Observe how long a change took."""
        if result.outcome not in _NOT_SENT:
            self.actuation.observe(result.elapsed_s)

    def deviated(self, deviation: Deviation) -> None:
        """Count an option that changed after we had set it."""
        self.deviations[deviation.outcome] += 1

    def refused(self, notes: Iterable[Note]) -> None:
        """Count the guards' refusals."""
        self.refusals.update(note.guard for note in notes)

    def sampled(self, sample: Sample, now_s: float) -> None:
        """Take in a new sample."""
        self.sampled_s = now_s
        for cf in sample.column_families:
            for name, count in cf.stall_counts.items():
                if count and name in COUNTS:
                    key = (cf.name, *COUNTS[name])
                    is_new = key not in self.stalls and len(self.stalls) >= _NAMES_MOST
                    self.stalls[(_OTHER, *COUNTS[name]) if is_new else key] += count

    def _turned(self, record: DecisionRecord) -> None:
        for change in record.changes:
            if change.option == _NO_OSCILLATION:
                continue
            try:
                up = float(change.value) > float(change.before)
            except ValueError:
                continue  # a switch
            option = change.option
            if self._directions.get(option, up) != up:
                self.reversals[option.option if option.scope == "column_family" else str(option)] += 1
            if len(self._directions) >= _NAMES_MOST:
                self._directions.clear()  # column families that came and went
            self._directions[option] = up
