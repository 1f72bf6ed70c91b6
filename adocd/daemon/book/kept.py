"""What the book keeps of each database, also of those that are closed. Pure."""

from collections import Counter
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
    # Each record is looked at once: hundreds of closed databases are asked about together.
    policies = {policy.target for policy in contents.policies}
    pauses = {pause.target for pause in contents.pauses if pause.state != "resumed"}
    overrides = Counter(override.target for override in contents.overrides)
    originals: dict[str, list[str]] = {}
    for tuned in contents.tuned:
        originals.setdefault(tuned.target, []).append(str(tuned.option_name))
    return {
        target: KeptTarget(
            id=target,
            path=path,
            policy=target in policies,
            paused=target in pauses,
            overrides=overrides[target],
            originals=tuple(originals.get(target, ())),
        )
        for target, path in paths.items()
    }
