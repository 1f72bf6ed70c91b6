"""The daemon's book without a file: nothing of a simulation must outlive it, and disk I/O takes no virtual time."""

from collections.abc import Iterable
from pathlib import Path

from adocd.daemon.book.book import Book, Clocks
from adocd.daemon.book.journal.records import Tuned
from adocd.daemon.book.journal.rescue import Contents
from adocd.model.decision_record import DecisionRecord
from adocd.model.values import OptionName, Values
from adocd.simulator.clock import Clock


class MemoryBook(Book):
    """Remembers tuned values, pauses and all decisions in memory.

    Lasting settings of operators, pins and policies, need a file and raise JournalUnopenable here.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(Path("/simulated/journal"), None, Contents(), Clocks(clock, clock))
        self._decided: dict[int, DecisionRecord] = {}

    @property
    def problem(self) -> str | None:
        """See Book: memory can always be written."""
        return None

    @property
    def all_decisions(self) -> Iterable[DecisionRecord]:
        """Every decision with its last known outcome, oldest first: more than the daemon's log of decisions keeps."""
        return self._decided.values()

    def decided(self, target: str, record: DecisionRecord, *, path: str) -> None:  # noqa: ARG002
        """See Book."""
        self._decided[record.sequence] = record

    async def intend(
        self, target: str, path: str, session: str, sent: Iterable[tuple[OptionName, str]], baseline: Values
    ) -> None:
        """See Book."""
        now_s = self._clocks.wall()
        known = self._tuned.setdefault(target, {})
        for option, value in sent:
            if value != baseline[option]:
                names = (option.scope, option.name, option.option, baseline[option])
                old = known.get(option) or Tuned(target, path, *names, (), session, now_s, now_s)
                known[option] = old.sending(value, now_s)
