"""Wheels and source archives: what has to travel in them, and what must not."""

from __future__ import annotations

import email
import email.message
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.packages.conftest import DISTRIBUTIONS, Archives

pytestmark = pytest.mark.long

either = pytest.mark.parametrize("name", DISTRIBUTIONS)


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as content:
        return content.namelist()


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as content:
        (name,) = (name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_string(content.read(name).decode())


@either
def test_the_only_top_level_package_is_its_own(archives: dict[str, Archives], name: str) -> None:
    """A top-level `api` or `cli` in site-packages would shadow its user's own."""
    assert {n.partition("/")[0] for n in names(archives[name].wheel) if ".dist-info/" not in n} == {name}
    assert f"{name}/py.typed" in names(archives[name].wheel)


def test_the_agents_the_protocol_and_the_load_generator_travel(archives: dict[str, Archives]) -> None:
    native = REPOSITORY / "agents" / "native"
    expected = {
        f"adocd/_agents/native/{path.relative_to(native)}"
        for pattern in ("CMakeLists.txt", "exports.map", "src/*", "include/**/*.h", "cmake/*", "packaging/*")
        for path in native.glob(pattern)
        if path.is_file()
    }
    expected |= {
        f"adocd/_agents/python/{path.relative_to(DISTRIBUTIONS['adocd_agent'])}"
        for path in DISTRIBUTIONS["adocd_agent"].glob("adocd_agent/**/*.py")
    }
    expected.add("adocd/_agents/admin-api.yaml")
    load = REPOSITORY / "adocd" / "bench" / "load" / "native"
    expected |= {str(path.relative_to(REPOSITORY)) for path in load.rglob("*") if path.is_file()}
    assert expected - set(names(archives["adocd"].wheel)) == set()


@either
def test_a_wheel_comes_out_the_same_by_way_of_the_source_archive(archives: dict[str, Archives], name: str) -> None:
    def contents(wheel: Path) -> dict[str, bytes]:
        with zipfile.ZipFile(wheel) as content:
            return {name: content.read(name) for name in content.namelist()}

    direct, again = contents(archives[name].wheel), contents(archives[name].wheel_of_sdist)
    assert sorted(direct) == sorted(again)
    assert [n for n in direct if direct[n] != again[n]] == []


def test_the_source_archive_is_the_whole_checkout(archives: dict[str, Archives]) -> None:
    """All but the links in the trees of tests/bench: no source archive of hatchling keeps a link to a directory."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    expected = {name for name in listed.stdout.split("\0") if name and (REPOSITORY / name).is_file()}
    assert expected - archives["adocd"].sdist_names == set()
    assert {".ci/run", "Makefile", "requirements.lock", "tests/conftest.py", "examples/adocd.toml"} <= expected


@either
def test_what_an_index_shows(archives: dict[str, Archives], name: str) -> None:
    about = metadata(archives[name].wheel)
    assert about["License-Expression"] == "Apache-2.0"
    assert about.get_all("License-File") == ["LICENSE"]
    assert about["Description-Content-Type"] == "text/markdown"
    assert str(about.get_payload()).strip() == (DISTRIBUTIONS[name] / "README.md").read_text().strip()


def test_the_agents_license_is_the_same() -> None:
    """A distribution's license files must be below its pyproject.toml, so there are two of it."""
    assert (DISTRIBUTIONS["adocd_agent"] / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_neither_needs_the_other(archives: dict[str, Archives]) -> None:
    """The daemon's host and the Python program's are often two environments, and the agent must not add to its host."""
    assert metadata(archives["adocd_agent"].wheel).get_all("Requires-Dist") is None
    needed = metadata(archives["adocd"].wheel).get_all("Requires-Dist") or []
    assert [line for line in needed if line.startswith("adocd")] == []
