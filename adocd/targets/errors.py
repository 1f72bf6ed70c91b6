"""The errors of reaching a target. Every message is one sentence that names the remedy."""

from adocd.model.capabilities import ONLY_OBSERVED


class TargetError(Exception):
    """Base class of all errors of a target."""


class Unreachable(TargetError):
    """Nothing answers, or the connection broke: the process has ended, or never listened."""


class Dead(Unreachable):
    """Nobody listens on the socket: its process has ended, because a socket gets its name only once it listens."""


class NotAllowed(Unreachable):
    """Something may answer there, but not to this user."""


class Silent(TargetError):
    """The agent exists but does not answer in time: its database may be in a stall."""


class Busy(Silent):
    """It exists, but takes no more requests now: it has not seen this one."""


class NotAnAgent(TargetError):
    """Something answers, but does not speak the admin protocol."""


class WrongVersion(TargetError):
    """The agent speaks a major version of the protocol that this adocd does not know."""


class Refused(TargetError):
    """The agent refused a request.

    `code` is the problem's code of agents/admin-api.yaml (`lease_held`, `no_such_option`, ...); `holder` is the lease's
    holder, if that is the reason.
    """

    def __init__(self, status: int, code: str, detail: str, holder: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.holder = holder


class OnlyObserved(Refused):
    """The target is read-only, so nothing can be changed, and nothing needs restoring."""

    def __init__(self) -> None:
        super().__init__(409, "only_observed", ONLY_OBSERVED)


class Closed(Refused):
    """The database was closed, or reopened under another session."""


class OutOfSight(Closed):
    """The database can no longer be observed, but may still be open."""
