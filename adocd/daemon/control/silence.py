"""How long an agent has owed an answer: one that shares an interpreter lock with stalled writers cannot answer."""

from collections.abc import Callable

from adocd.model.capabilities import Capabilities

#: An agent that answers takes milliseconds.
_OWED_S = 0.5


class Silence:
    """One agent's silence; `clock` is monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked_s: float | None = None
        self._since_s: float | None = None

    def asked(self) -> None:
        """Say that the agent is being asked."""
        self._asked_s = self._clock()

    def answered(self) -> None:
        """Say that it has answered."""
        self._asked_s, self._since_s = None, None

    def given_up(self) -> None:
        """Say that nothing is asked of it any more, though it may not have answered."""
        self._asked_s = None

    def found(self) -> float:
        """Say that an answer did not come in time; returns for how long it has been owed, in seconds."""
        now_s = self._clock()
        if self._since_s is None:
            self._since_s = now_s if self._asked_s is None else self._asked_s
        return now_s - self._since_s

    @property
    def owed_s(self) -> float | None:
        """For how long an answer has been owed, in seconds; None while it is none too late, also while it is asked."""
        since_s = self._asked_s if self._since_s is None else self._since_s
        if since_s is None or (owed_s := self._clock() - since_s) <= _OWED_S:
            return None
        return owed_s


def may_be_stalled(capabilities: Capabilities) -> bool:
    """Whether this agent's silence may mean that writes are stalled."""
    return not capabilities.responds_during_stall
