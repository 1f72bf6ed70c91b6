"""Which targets are paused or to be restored. In force at once; written in the background, so that nobody waits.

They are written all together: a daemon that ends between two writes would keep some of them and lose others.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from adocd.daemon.book.journal.late import Write
from adocd.daemon.book.journal.records import Pause

#: Writes about a subject as soon as possible.
Later = Callable[[tuple[object, ...], Write], None]


class Pauses:
    """The pauses and restores of all targets, and of each; a target's own entry overrides the one for all."""

    def __init__(self, pauses: Iterable[Pause], later: Later, wall_clock: Callable[[], float]) -> None:
        self._pauses = {pause.target: pause for pause in pauses}
        self._later = later
        self._wall_clock = wall_clock
        #: How many were entered in this run, of any target; which was the last one, by target.
        self.entered = 0
        self._last: dict[str | None, int] = {}

    @property
    def entries(self) -> tuple[Pause, ...]:
        """What must be in the journal."""
        return tuple(self._pauses.values())

    def of(self, target: str | None) -> Pause | None:
        """Return whether a target is paused or to be restored; its own entry overrides the one for all targets.

        With None, return the entry for all targets.
        """
        found = self._pauses.get(target) or self._pauses.get(None)
        return None if found is None or found.state == "resumed" else found

    def is_paused(self, target: str | None) -> bool:
        """Whether a target is paused or to be restored; with None, whether any is."""
        return bool(self._pauses) if target is None else self.of(target) is not None

    def entered_since(self, target: str, entered: int) -> bool:
        """Whether a target, or all, was paused or restored after `entered` was this.

        A pause of what is restored counts, too, although it replaces nothing.
        """
        return max(self._last.get(target, 0), self._last.get(None, 0)) > entered

    def enter(self, pause: Pause) -> None:
        """Pause a target, or all, replacing each one's entry; in force at once, durable as soon as possible.

        A pause does not replace a restore, because pins act during a pause, and a restored target must stay restored.
        """
        self.entered += 1
        self._last[pause.target] = self.entered
        if pause.state == "paused" and self._is_restored(pause.target):
            if pause.target is None:
                # All are restored but those that were resumed since, or paused after that: it is a pause of these.
                others = [known for known in self._pauses.values() if known.state != "restored"]
                self._pauses |= {each.target: replace(pause, target=each.target, path=each.path) for each in others}
                self._write()
            return
        if pause.target is None:
            is_kept = {"restored"} if pause.state == "paused" else set[str]()
            self._pauses = {target: known for target, known in self._pauses.items() if known.state in is_kept}
        self._pauses[pause.target] = pause
        self._write()

    def resume(self, target: str | None, path: str | None, who: str) -> bool:
        """Allow changes to a target, or to all, again; returns whether it was paused."""
        was_paused, before = self.is_paused(target), dict(self._pauses)
        if target is None:
            self._pauses.clear()
        elif None in self._pauses:
            self._pauses[target] = Pause(target, path, "resumed", "resumed", who, self._wall_clock())
        else:
            self._pauses.pop(target, None)
        if self._pauses != before:
            self._write()
        return was_paused

    def entry(self, target: str) -> Pause | None:
        """Return a target's own entry."""
        return self._pauses.get(target)

    def forgotten(self, target: str, known: Pause | None) -> None:
        """Drop a target's own entry, which the file has no more; one that is not the `known` stays, and is written."""
        if self._pauses.get(target) is known:
            self._pauses.pop(target, None)
        self._write()  # also because what was written meanwhile had all of them

    def _is_restored(self, target: str | None) -> bool:
        found = self.of(target)
        return found is not None and found.state == "restored"

    def _write(self) -> None:
        self._later(("pauses",), lambda journal: journal.keep_pauses(self.entries))
