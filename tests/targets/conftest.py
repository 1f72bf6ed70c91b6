"""A database in a directory, and a program that has it open without an agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.observed import rocksdict_program
from tests.support.programs import Program


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def program() -> Iterator[Program]:
    with rocksdict_program() as program:
        yield program
