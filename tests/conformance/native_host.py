"""The native agent under the suite: preloaded into the `lifecycle` fixture program (tests/native_programs)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.conformance.program_host import ProgramHost
from tests.support.programs import Program, environment


class NativeHost(ProgramHost):
    """See hosts.Host; the agent adds the rate limiter."""

    def __init__(
        self,
        lifecycle: Path,
        library: Path,
        run_dir: Path,
        directory: Path,
        *,
        limiter: int | None,
        families: Sequence[str],
    ) -> None:
        added = {} if limiter is None else {"ADOCD_AGENT_RATE_LIMITER": str(limiter)}
        super().__init__(Program([lifecycle], environment(library, run_dir, **added)), run_dir, directory, families, {})

    def drop_column_family(self, name: str) -> None:
        """See Host; the program's handle would keep it visible."""
        super().drop_column_family(name)
        self.program.ask("delete_handle", self.path, name)
