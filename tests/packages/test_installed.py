"""The wheels in empty environments: installed as a user does, and run away from the checkout."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.bench.roots import capping
from tests.conftest import REPOSITORY
from tests.packages.conftest import Archives
from tests.packages.environment import Environment

pytestmark = pytest.mark.long


@pytest.fixture
def adocd(light: Environment) -> Environment:
    return light


@pytest.mark.parametrize("name", ["adocd", "adocctl"])
def test_the_commands_say_their_version(adocd: Environment, name: str) -> None:
    assert adocd.run(name, "--version").ok() == f"{name} {importlib.metadata.version('adocd')}\n"


def test_the_python_agent_is_not_needed(adocd: Environment) -> None:
    assert "adocd-agent" not in adocd.installed()
    assert adocd.run("python", "-c", "import adocd_agent").status == 1


def test_it_checks_the_example_configuration(adocd: Environment) -> None:
    assert "is good" in adocd.run("adocd", "check-config", str(REPOSITORY / "examples" / "adocd.toml")).ok()


def test_the_bench_is_listed(adocd: Environment) -> None:
    assert {"adocd-bench", "rocksdict"} & adocd.installed() == set()
    listed = adocd.run("adocd", "--help").ok()
    assert {"demo", "bench"} <= set(listed.split())


@pytest.mark.parametrize("words", [("demo",), ("demo", "--seconds", "5"), ("bench",), ("bench", "run", "--out", "x")])
def test_the_bench_is_another_package(adocd: Environment, words: tuple[str, ...]) -> None:
    done = adocd.run("adocd", *words)
    assert (done.status, done.out) == (1, "")
    what = f"adocd {words[0]} is in another package, adocd-bench"
    assert done.err == f"adocd: {what}: pip install ./bench in a checkout of adocd\n"


def test_the_demo_needs_the_bench_alone(archives: dict[str, Archives], tmp_path: Path) -> None:
    """Neither a system package nor the Python agent's own distribution."""
    environment = Environment(tmp_path / "bench", archives["adocd"].wheel, archives["adocd_bench"].wheel)
    assert {"adocd", "adocd-bench"} <= environment.installed()
    assert "adocd-agent" not in environment.installed()
    # Under a cap, or it takes all processors that there are.
    where = ("--directory", str(tmp_path), "--profile", capping(tmp_path, "cap-50"))
    demo = environment.run("adocd", "demo", "--seconds", "5", *where, "--json")
    result = json.loads(demo.ok())
    assert result["on"] == "embedded"
    assert result["fixed"]["writes"] > 0
    assert result["adoc"]["writes"] > 0
    assert "fillrandom" in environment.run("adocd", "bench", "workloads").ok()


def test_an_agent_that_is_not_built_is_said(adocd: Environment) -> None:
    adocd.run("adocd", "agent", "path").failed(6, "it has not been built; run `adocd agent build`")


def test_its_sources_are_those_of_the_checkout(adocd: Environment, native_agent_library: Path) -> None:
    """It takes the agent that the checkout has built, which it does not if a source differs or is missing."""
    cache = native_agent_library.parents[3]
    assert adocd.run("adocd", "agent", "path", XDG_CACHE_HOME=str(cache)).ok() == f"{native_agent_library}\n"


def test_the_agent_can_be_compiled_from_the_wheel(adocd: Environment, tmp_path: Path) -> None:
    """As far as cmake's configuration, where files or the version would be missing; compiling takes a minute."""
    sources = (
        adocd.run("python", "-c", "from adocd.process import native; print(native.product().sources)").ok().strip()
    )
    assert str(adocd.root) in sources
    version = importlib.metadata.version("adocd")
    configure = ["cmake", "-S", sources, "-B", str(tmp_path)]
    refused = subprocess.run(configure, capture_output=True, text=True, check=False)
    assert "give -DADOCD_VERSION" in refused.stderr
    shutil.rmtree(tmp_path)
    subprocess.run([*configure, f"-DADOCD_VERSION={version}"], capture_output=True, check=True)
    assert json.loads((tmp_path / "agent.json").read_text())["adocd"] == version


def test_the_python_agent_comes_alone(archives: dict[str, Archives], tmp_path: Path) -> None:
    """Into the environment of somebody else's program, so it brings nothing."""
    environment = Environment(tmp_path / "agent", archives["adocd_agent"].wheel)
    environment.run("python", "-c", "import adocd_agent").ok()
    assert environment.installed() == {"adocd-agent"}
