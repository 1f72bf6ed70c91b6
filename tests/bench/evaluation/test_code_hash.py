"""By which code a run was made."""

from __future__ import annotations

from pathlib import Path

import pytest
from adocd_bench.evaluation.code_hash import code_in_use, code_of, file_hash
from adocd_bench.evaluation.machine import machine

from adocd.process import native
from adocd.process.compiled import NativeError


def package(room: Path, name: str) -> Path:
    (room / name / "inner").mkdir(parents=True)
    (room / name / "__init__.py").write_text("")
    (room / name / "inner" / "law.py").write_text("TRIGGER = 4\n")
    return room / name


def test_it_changes_with_any_source_and_with_the_agent_and_with_nothing_else(tmp_path: Path) -> None:
    packages = [package(tmp_path, "a"), package(tmp_path, "b")]
    agent = tmp_path / "agent.so"
    agent.write_bytes(b"one")
    first = code_of(packages, agent)
    assert len(first) == 12
    (packages[0] / "__pycache__").mkdir()
    (packages[0] / "__pycache__" / "law.pyc").write_bytes(b"x")
    assert code_of(packages, agent) == first, "what Python compiled is no source"
    agent.write_bytes(b"two")
    found = {first, code_of(packages, agent)}
    (packages[1] / "inner" / "law.py").write_text("TRIGGER = 5\n")
    found.add(code_of(packages, agent))
    (packages[1] / "inner" / "law.py").rename(packages[1] / "inner" / "laws.py")
    found.add(code_of(packages, agent))
    assert len(found) == 4


def test_a_programs_file_has_a_hash_of_what_is_in_it(tmp_path: Path) -> None:
    program = tmp_path / "db_bench"
    assert file_hash(program) is None
    program.write_bytes(b"one")
    first = file_hash(program)
    program.write_bytes(b"two")
    assert len({None, first, file_hash(program)}) == 3


def test_a_machine_is_told_with_the_code_that_runs_on_it(native_agent_library: Path, tmp_path: Path) -> None:
    assert machine(tmp_path).code == code_in_use()
    assert code_in_use() is not None


def test_without_an_agent_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> Path:
        raise NativeError("it has not been built")

    monkeypatch.setattr(native, "find", none)
    assert code_in_use() is None
