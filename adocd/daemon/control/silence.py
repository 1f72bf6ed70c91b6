"""How long an agent's answer has been overdue: one that shares the GIL with stalled writers cannot answer."""

from collections.abc import Callable

from adocd.model.capabilities import Capabilities

#: An answer is overdue after this; a healthy agent needs milliseconds.
_OWED_S = 0.5


class Silence:
    """One agent's silence; `clock` is monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked_s: float | None = None
        self._since_s: float | None = None

    def asked(self) -> None:
        """Note that a request to the agent begins."""
        self._asked_s = self._clock()

    def answered(self) -> None:
        """Note that the agent has answered."""
        self._asked_s, self._since_s = None, None

    def given_up(self) -> None:
        """Note that no answer is expected any more, although one may be missing."""
        self._asked_s = None

    def found(self) -> float:
        """Note that an answer did not come in time; returns how long ago it was requested, in seconds."""
        now_s = self._clock()
        if self._since_s is None:
            self._since_s = now_s if self._asked_s is None else self._asked_s
        return now_s - self._since_s

    @property
    def owed_s(self) -> float | None:
        """How long an answer has been due, in seconds, also while it is still awaited; None while it is not late."""
        since_s = self._asked_s if self._since_s is None else self._since_s
        if since_s is None or (owed_s := self._clock() - since_s) <= _OWED_S:
            return None
        return owed_s


def may_be_stalled(capabilities: Capabilities) -> bool:
    """Whether this agent's silence may mean that writes are stalled."""
    return not capabilities.responds_during_stall
