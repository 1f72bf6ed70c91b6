"""The Java agent under the suite: in the JVM of the `lifecycle` program (tests/java_programs) from its start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.conformance.program_host import RenewableHost
from tests.support.java import java_command
from tests.support.programs import Program, environment


class JavaHost(RenewableHost):
    """See hosts.Host."""

    def __init__(
        self, agent: Path, run_dir: Path, directory: Path, *, limiter: int | None, families: Sequence[str]
    ) -> None:
        program = Program(java_command(agent), environment(None, run_dir))
        super().__init__(program, run_dir, directory, limiter, families)
