"""When the policy in force began to act, as the audit trail has it."""

from collections.abc import Iterable

from adocd.daemon.book.journal.records import Operation

_SETS = ("set-policy", "reset-policy")


def began_unix_s(newest_first: Iterable[Operation], target: str) -> float | None:
    """Find when the policy in force began to act; None where nobody has let it begin.

    An operator's last word on this target or on all: that set it, or that ended a restore. What ended a pause began
    nothing, for in a pause all stays as the law has set it.
    """
    resumed: float | None = None
    for operation in newest_first:
        if operation.target not in (target, None):
            continue
        if operation.what in _SETS:
            return operation.unix_s
        if operation.what == "resume":
            resumed = operation.unix_s
        if operation.what == "restore" and resumed is not None:
            return resumed
    return None
