"""What the book keeps of each database, also of those that are closed. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from adocd.daemon.book.journal.records import JournaledPolicy, Override, Pause, Tuned
from adocd.daemon.book.journal.rescue import Contents


@dataclass(frozen=True, slots=True)
class KeptTarget:
    """What is kept of one database.

    `originals` are the options whose original values are still due: they were changed, and not seen restored. They are
    restored when the database is opened again.
    """

    id: str
    path: str
    policy: bool
    paused: bool
    overrides: int
    originals: tuple[str, ...]


def kept(contents: Contents) -> Mapping[str, KeptTarget]:
    """Return what is kept of each target, by its id; what is for all targets is of none."""
    records: tuple[Tuned | JournaledPolicy | Override | Pause, ...] = (
        *contents.tuned, *contents.policies, *contents.overrides, *contents.pauses
    )  # fmt: skip
    paths = {record.target: record.path or "" for record in records if record.target is not None}
    return {
        target: KeptTarget(
            id=target,
            path=path,
            policy=any(policy.target == target for policy in contents.policies),
            paused=any(pause.target == target for pause in contents.pauses),
            overrides=sum(override.target == target for override in contents.overrides),
            originals=tuple(str(tuned.option_name) for tuned in contents.tuned if tuned.target == target),
        )
        for target, path in paths.items()
    }
