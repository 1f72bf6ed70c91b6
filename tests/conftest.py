"""Fixtures of all suites."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.cli.harness import command

REPOSITORY = Path(__file__).parent.parent

# How long an example takes is the machine's, and whoever else uses it.
settings.register_profile("adocd", deadline=None)
settings.load_profile("adocd")
# A shell that starts CI in the background lets it ignore SIGINT, and what the tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker begins with it when the others are through."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for path in {item.path for item in items if item.get_closest_marker("alone")}:
        assert "mark.alone" in path.read_text(), f"{path}: by these words the Makefile finds what runs alone"


@pytest.fixture(scope="session")
def native_agent_library() -> Path:
    """The native agent for this machine's librocksdb; `make test` builds it, and a missing one is a failure."""
    shown = command("adocd", "agent", "path", "--json", run_dir=Path("/nonexistent"))
    assert shown.status == 0, f"{shown.err.strip()} (`make agent` does it)"
    return Path(json.loads(shown.out)["agent"])


@pytest.fixture(scope="session")
def java_agent() -> Path:
    """The Java agent's jar; `make test` builds it, and a missing one is a failure."""
    shown = command("adocd", "agent", "path", "--java", "--json", run_dir=Path("/nonexistent"))
    assert shown.status == 0, f"{shown.err.strip()} (`make java` does it)"
    return Path(json.loads(shown.out)["agent"])


@pytest.fixture(scope="session")
def native_programs() -> Path:
    """The directory of the compiled fixture programs of tests/native_programs; `make fixtures` compiles them."""
    directory = REPOSITORY / ".cache" / "fixtures"
    assert (directory / "lifecycle").is_file(), f"{directory} has no programs: run `make fixtures`"
    return directory


@pytest.fixture
def run_dir() -> Iterator[Path]:
    """A run directory whose path is short enough for a Unix socket, wherever pytest puts its own."""
    with tempfile.TemporaryDirectory(prefix="adocd-") as directory:
        yield Path(directory)
