"""How long writers waited, by RocksDB's own count: from a LOG's statistics dumps and an agent's counter."""

from dataclasses import dataclass

#: Most spans kept. Above that, neighbours in the older half are merged in pairs, so old history gets coarse.
SPELLS_MOST = 2048
#: A dump rounds to milliseconds (s).
_ROUNDING_S = 0.001


@dataclass(frozen=True, slots=True)
class _Spell:
    """Seconds that writers waited between `begin_s` and `end_s`, in unix seconds."""

    begin_s: float
    end_s: float
    waited_s: float


class Waited:
    """Adds up waits over all opens of a database. An agent's counter is exact and current, so it beats dumps.

    `total_s` is how long writers waited until `until_s`, in unix seconds; both are None while nothing is known.
    """

    def __init__(self) -> None:
        self.until_s: float | None = None
        #: Seconds of earlier opens, and of this one so far.
        self._before_s = 0.0
        self._open_s: float | None = None
        self._session: str | None = None
        self._counted_from_s: float | None = None
        self._counted_to_s = 0.0
        self._spells: list[_Spell] = []

    @property
    def total_s(self) -> float | None:
        """Seconds that writers waited until `until_s`, over all column families."""
        return None if self.until_s is None else self._before_s + (self._open_s or 0.0)

    def opened(self, time_s: float) -> None:
        """Note that the LOG shows another open."""
        if not self._is_counted(time_s):
            self._end_open()

    def dumped(self, time_s: float, total_s: float, waited_s: float | None, since_s: float | None) -> None:
        """Take a dump: seconds since the open, and those of them after `since_s`."""
        if not self._is_counted(time_s):
            self._reached(time_s, total_s)
        begins_s = time_s if since_s is None else since_s
        is_beside = self._counted_from_s is not None and time_s > self._counted_from_s
        if waited_s is not None and begins_s < time_s and not (is_beside and begins_s < self._counted_to_s):
            self._add(_Spell(begins_s, time_s, waited_s))

    def counted(self, session: str, time_s: float, total_s: float) -> None:
        """Take an agent's counter at this time: seconds since the open that `session` names."""
        then_s, begins_s = self._open_s or 0.0, self._counted_to_s
        goes_on = session == self._session
        if not goes_on and self._session is not None:
            self._end_open()
        self._reached(time_s, total_s)
        self._session, self._counted_to_s = session, time_s
        if self._counted_from_s is None:
            self._counted_from_s = time_s
        if goes_on and begins_s < time_s:
            self._add(_Spell(begins_s, time_s, total_s - then_s if total_s >= then_s else total_s))

    def between(self, begin_s: float, end_s: float) -> float | None:
        """Return how long writers waited between two times; None where that is unknown."""
        shares = [
            spell.waited_s * (min(spell.end_s, end_s) - max(spell.begin_s, begin_s)) / (spell.end_s - spell.begin_s)
            for spell in self._spells
            if spell.end_s > begin_s and spell.begin_s < end_s
        ]
        return sum(shares) if shares else None

    def _is_counted(self, time_s: float) -> bool:
        """Say whether an agent has counted the time until then; a LOG is up to 5 s late and may be old when read."""
        return self._counted_from_s is not None and time_s <= self._counted_to_s

    def _reached(self, time_s: float, total_s: float) -> None:
        if self._open_s is not None and total_s < self._open_s - _ROUNDING_S:
            self._end_open()  # another open whose start was not seen, or the counter was reset
        self._open_s, self.until_s = total_s, time_s

    def _end_open(self) -> None:
        self._before_s += self._open_s or 0.0
        self._open_s = None

    def _add(self, spell: _Spell) -> None:
        self._spells.append(spell)
        if len(self._spells) > SPELLS_MOST:
            half = len(self._spells) // 4 * 2
            pairs = zip(self._spells[0:half:2], self._spells[1:half:2], strict=True)
            self._spells[:half] = [_Spell(a.begin_s, b.end_s, a.waited_s + b.waited_s) for a, b in pairs]
