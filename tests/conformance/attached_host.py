"""The native agent under the suite: attached to the `lifecycle` fixture program while its database is open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adocd.process.attach import attachment
from tests.conformance.program_host import ProgramHost
from tests.support.programs import Program, environment


class AttachedHost(ProgramHost):
    """See hosts.Host; the program makes the rate limiter."""

    def __init__(
        self, lifecycle: Path, run_dir: Path, directory: Path, *, limiter: int | None, families: Sequence[str]
    ) -> None:
        added = {} if limiter is None else {"rate_limiter": str(limiter)}
        super().__init__(Program([lifecycle], environment(None, None)), run_dir, directory, families, added)
        attached = attachment.attach(self.program.pid, run_dir, {})
        assert [each.directory for each in attached.databases] == [directory.resolve()], attached

    def drop_column_family(self, name: str) -> None:
        """See Host; the program's handle would keep it visible, if the database was opened since."""
        super().drop_column_family(name)
        self.program.ask("delete_handle", self.path, name)
