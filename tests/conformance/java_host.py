"""The Java agent under the suite: in the JVM of the `lifecycle` program (tests/java_programs) from its start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.conformance.program_host import ProgramHost
from tests.support.java import java_command
from tests.support.programs import Program, environment


class JavaHost(ProgramHost):
    """See hosts.Host; with Statistics."""

    def __init__(
        self, agent: Path, run_dir: Path, directory: Path, *, limiter: int | None, families: Sequence[str]
    ) -> None:
        program = Program(java_command(agent), environment(None, run_dir))
        limited = {} if limiter is None else {"rate_limiter": str(limiter)}
        super().__init__(program, run_dir, directory, families, {**limited, "statistics": "yes"})
