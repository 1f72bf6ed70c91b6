"""What the daemon measures of itself: counters and histograms, cumulative since it began. Pure, and cheap to keep."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from adocd.daemon.change.actuator import Result
from adocd.daemon.change.guards.guard import Note
from adocd.daemon.change.ledger import Deviation
from adocd.model.decision_record import DecisionRecord, Outcome
from adocd.model.sample import Sample
from adocd.model.stall import COUNTS, Cause, Held
from adocd.model.values import OptionName

#: From an agent that answers at once to a change that waits for a long stall, in seconds.
LATENCY_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: A law of somebody else's may name a rule anew each time, and each name is a time series for ever.
_RULES_MOST = 200
#: Column families come and go, too.
_NAMES_MOST = 1000
_OTHER = "other"
#: Nothing was sent, or the target could not be reached: no time of RocksDB's.
_NOT_SENT: tuple[Outcome, ...] = ("refused", "failed")
#: Rules of these are no law's own doing, and undo what a law did without being its swing.
_NOT_A_LAW = ("actuator.", "operator.", "safety.", "daemon.")


class Histogram:
    """How many values were at most each bound, their sum, and their number; in seconds."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...] = LATENCY_BOUNDS_S) -> None:
        self.bounds = bounds
        #: By the smallest bound that holds a value; the last one is for what is beyond all.
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Take in a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class LoopVitals:
    """The loops of all targets together, and the search for them; times are seconds of the daemon's clock."""

    def __init__(self) -> None:
        #: How long a cycle took.
        self.duration = Histogram()
        #: How much later than it was due a cycle began: what control suffers from a busy machine, or from us.
        self.lateness = Histogram()
        #: How long each collection of cyclic garbage stopped everything.
        self.garbage = Histogram()
        #: When agents were last looked for; None before the first time.
        self.discovered_s: float | None = None
        #: When the configuration was last taken, in seconds since the epoch, and whether the last attempt succeeded.
        self.configured_unix_s: float | None = None
        self.is_configured = True
        #: Why nothing is served by TCP yet though it is asked for, in one sentence.
        self.web_problem: str | None = None


class TargetVitals:
    """One target, through all its sessions."""

    def __init__(self) -> None:
        #: Decisions whose outcome is known, by rule and outcome.
        self.decisions: Counter[tuple[str, Outcome]] = Counter()
        #: What became of options after they had been set, by outcome.
        self.deviations: Counter[Outcome] = Counter()
        #: How often a guard held something of a decision back; what is refused again counts again.
        self.refusals: Counter[str] = Counter()
        #: How often the law turned an option round, by option.
        self.reversals: Counter[str] = Counter()
        #: How often RocksDB held writes, as it counts it, by column family, cause and how.
        self.stalls: Counter[tuple[str, Cause, Held]] = Counter()
        #: From the announcement of a change to what was read back: SetOptions, and the journal before it.
        self.actuation = Histogram()
        #: How long the agent took to answer for a snapshot.
        self.answer = Histogram()
        #: When the last sample was taken, and a cycle last ended, whatever it came to, by the loop's clock.
        self.sampled_s: float | None = None
        self.ticked_s: float | None = None
        #: How long it sleeps between two cycles, in seconds: another tick_s is taken when it wakes.
        self.tick_s = 0.0
        self._directions: dict[OptionName, bool] = {}

    def decided(self, record: DecisionRecord) -> None:
        """Count a decision whose outcome is known."""
        rule = record.rule
        if len(self.decisions) >= _RULES_MOST and (rule, record.outcome) not in self.decisions:
            rule = _OTHER
        self.decisions[rule, record.outcome] += 1
        if record.outcome in ("applied", "applied-unpersisted") and not rule.startswith(_NOT_A_LAW):
            self._turned(record)

    def sent(self, result: Result) -> None:
        """Count what a change took."""
        if result.outcome not in _NOT_SENT:
            self.actuation.observe(result.elapsed_s)

    def deviated(self, deviation: Deviation) -> None:
        """Count what became of an option after it had been set."""
        self.deviations[deviation.outcome] += 1

    def refused(self, notes: Iterable[Note]) -> None:
        """Count the guards that spoke."""
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
