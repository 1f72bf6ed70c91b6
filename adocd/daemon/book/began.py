"""When the policy in force began to act, according to the audit trail."""

from collections.abc import Iterable

from adocd.daemon.book.journal.records import Operation

_SETS = ("set-policy", "reset-policy")


def began_unix_s(newest_first: Iterable[Operation], target: str) -> float | None:
    """Return when the policy in force began to act; None if no operation set it.

    That is the last operation on this target, or on all, that set the policy or ended a restore. A reload of the
    configuration that changes the policy is one. An operation from before a restart of the daemon counts, although the
    configuration may have changed since. Ending a pause does not count, because the law's values stay in force during a
    pause.
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
