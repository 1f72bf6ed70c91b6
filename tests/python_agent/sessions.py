"""A session over a made-up database, and what tests do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adocd_agent.capabilities import Capabilities
from adocd_agent.option_state import Name, OptionState

from tests.support.changes import back, family
from tests.support.fake_changes import FakeCapabilities
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

Json = Any
CHANGE, UNDO = family(write_buffer_size="4194304"), back(family(write_buffer_size="67108864"))
NAME: Name = ("column_family", "default", "write_buffer_size")


class Watched(FakeDatabase):
    """Notes what its sessions gave back at their end."""

    def __init__(self) -> None:
        self.ended: list[dict[Name, str]] = []
        self.while_checking: Callable[[], None] = lambda: None
        super().__init__()

    def narrow(self, capabilities: Capabilities) -> Capabilities:
        """See Database; in the middle of the check of a PATCH."""
        self.while_checking()
        return super().narrow(capabilities)

    def end(self, changed: Mapping[Name, str], originals: OptionState) -> None:  # noqa: ARG002
        """See Database."""
        self.ended.append(dict(changed))


def change(
    database: FakeDatabase, changes: list[Json], plan: list[Json], holder: str = "daemon", *, repeat: bool = False
) -> list[str]:
    """Take the lease, where nobody has it, and PATCH; return the outcomes."""
    epoch = database.keeper.hold(holder, 60, None)["epoch"]
    request = {"holder": holder, "epoch": epoch, "changes": changes, "restore_plan": plan, "repeat": repeat}
    return [step["outcome"] for step in database.session.change(request, FakeCapabilities())["steps"]]


def revoke(database: FakeDatabase, *, restore: bool = True) -> None:
    """Press the operator's panic button."""
    database.keeper.release(None, None, restore=restore, force=True)


def restored(database: FakeDatabase) -> Json:
    """Wait for the end of the restore."""
    return eventually(lambda: (r := database.keeper.restore())["state"] == "done" and r, what="the restore")


def value(database: FakeDatabase) -> str | None:
    return database.options.get(NAME)
