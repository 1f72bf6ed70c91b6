"""What can go wrong between the daemon and a target. Every message is one sentence that names the way out."""

from adocd.model.capabilities import ONLY_OBSERVED


class TargetError(Exception):
    """The root of all of them."""


class Unreachable(TargetError):
    """Nothing answers there, or the connection broke: the process has ended, or never listened."""


class Dead(Unreachable):
    """A socket that nobody listens on: its process has ended, for a socket gets its name only once it listens."""


class NotAllowed(Unreachable):
    """Something may answer there, but not to this user."""


class Silent(TargetError):
    """The agent is there and does not answer in time: its database may be in a stall."""


class Busy(Silent):
    """It is there, and so many wait for it that not even a connection can be made now."""


class NotAnAgent(TargetError):
    """Something answers, and it does not speak the admin protocol."""


class WrongVersion(TargetError):
    """The agent speaks a major version of the protocol that this adocd does not know."""


class Refused(TargetError):
    """The agent refused a request, with its problem's code.

    `code` is the machine word of agents/admin-api.yaml (`lease_held`, `no_such_option`, ...); `holder` names who
    holds the lease where that is the reason.
    """

    def __init__(self, status: int, code: str, detail: str, holder: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.holder = holder


class OnlyObserved(Refused):
    """Nothing can be changed there, so there is nothing to restore either."""

    def __init__(self) -> None:
        super().__init__(409, "only_observed", ONLY_OBSERVED)


class Closed(Refused):
    """The database was closed, or opened anew under another session."""


class OutOfSight(Closed):
    """The database may be open still, and nothing is seen of it any more."""
