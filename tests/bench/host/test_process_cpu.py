"""The CPU clock of another process."""

from __future__ import annotations

import subprocess

import pytest
from adocd_bench.host.process_cpu import process_cpu_s


def test_a_program_that_only_began_has_used_something_and_one_that_counts_more() -> None:
    with subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        used = []
        for line in ("echo begun", "for i in 1 2 3 4 5 6 7 8 9; do :; done; echo counted"):
            shell.stdin.write(line + "\n")
            shell.stdin.flush()
            shell.stdout.readline()
            used.append(process_cpu_s(shell.pid))
        shell.stdin.close()
    assert 0 < used[0] < used[1]


def test_a_process_that_is_gone_is_said() -> None:
    with subprocess.Popen(["true"]) as program:
        program.wait()
    with pytest.raises(OSError, match="No such process"):
        process_cpu_s(program.pid)
