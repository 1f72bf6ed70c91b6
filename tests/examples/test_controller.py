"""The law of docs/writing-a-controller.md, as the package that it is: installed, found, and at work."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adocd.controllers import registry
from adocd.daemon.change.sound import what_is_wrong
from adocd.model.knob import MIB, Knob
from adocd.model.policy import Policy
from tests.builders import column_family, sample
from tests.cli.harness import BIN
from tests.conftest import REPOSITORY
from tests.controllers.laws import settings
from tests.daemon.harness import Scene, ticks, until, with_agent, write_buffer_size
from tests.support.fake_database import FakeDatabase

_INSTALL = ("--quiet", "pip", "install", "--offline", "--no-deps", "--no-build-isolation")
EXAMPLE = REPOSITORY / "examples" / "controller"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package into a directory of its own, without a network."""
    root = tmp_path_factory.mktemp("controller")
    shutil.copytree(EXAMPLE, root / "source", ignore=shutil.ignore_patterns("__pycache__"))
    target = root / "site"
    done = subprocess.run(
        [BIN / "uv", *_INSTALL, "--python", sys.executable, "--target", target, root / "source"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def found(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Look for laws anew, with the package among those there are."""
    monkeypatch.syspath_prepend(str(installed))
    importlib.invalidate_caches()
    registry.forget()
    yield
    registry.forget()
    sys.modules.pop("steady_batch", None)


@pytest.mark.usefixtures("found")
def test_it_is_a_law_like_any_other() -> None:
    assert registry.problems() == {}
    assert list(registry.laws()) == [*registry.LAWS, "steady-batch"]
    assert registry.laws()["steady-batch"].knobs == {Knob.BATCH_SIZE}
    both = registry.create(Policy("steady-batch+mimd", {"steady-batch.seconds": 4.0, "mimd.max_bytes_per_s": 10**9}))
    assert both.knobs == {Knob.BATCH_SIZE, Knob.RATE_LIMIT}
    with pytest.raises(registry.PolicyError, match="adoc and steady-batch cannot work together: both turn batch_size"):
        registry.create(Policy("adoc+steady-batch"))
    with pytest.raises(registry.PolicyError, match="steady-batch has no parameter 'second'; did you mean seconds"):
        registry.create(Policy("steady-batch", {"second": 4.0}))


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize(
    ("rate_mib", "batch_mib"),
    [(0, 8), (4, 8), (16, 32), (24, 48), (25, None), (39, None), (40, 80), (500, 256)],
)
def test_its_steps(rate_mib: int, batch_mib: int | None) -> None:
    """Two seconds of writes, from 64 MiB on; a quarter of that is 16."""
    law = registry.create(Policy("steady-batch"))
    written = sample(column_family(), written_bytes_per_s=float(rate_mib * MIB))
    decision = law.step(written)
    assert what_is_wrong(decision, law, written) is None
    assert settings(decision) == ({} if batch_mib is None else {Knob.BATCH_SIZE: batch_mib * MIB})
    assert law.step(sample(written_bytes_per_s=None)) is None


@pytest.mark.usefixtures("found")
def test_it_turns_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.laws()["steady-batch"], "period_s", 0.05)
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("steady-batch"))
        await ticks(loop, 3)
        await until(lambda: write_buffer_size(database) == str(8 * MIB), "nothing is written, so it is the least")

    with_agent(database, tmp_path, body)


def test_commands_find_it(installed: Path, tmp_path: Path) -> None:
    configuration = tmp_path / "adocd.toml"
    configuration.write_text('[policy]\ncontroller = "steady-batch"\nparameters = { seconds = 4.0 }\n')
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [BIN / "adocd", "check-config", configuration],
        env=dict(os.environ) | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
