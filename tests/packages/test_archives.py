"""Wheels and source archives: what has to travel in them, and what must not."""

from __future__ import annotations

import ast
import email
import email.message
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.packages.conftest import DISTRIBUTIONS, Archives

pytestmark = pytest.mark.long

each = pytest.mark.parametrize("name", DISTRIBUTIONS)


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as content:
        return content.namelist()


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as content:
        (name,) = (name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_string(content.read(name).decode())


@each
def test_the_only_top_level_package_is_its_own(archives: dict[str, Archives], name: str) -> None:
    """A top-level `api` or `cli` in site-packages would shadow its user's own."""
    assert {n.partition("/")[0] for n in names(archives[name].wheel) if ".dist-info/" not in n} == {name}
    assert f"{name}/py.typed" in names(archives[name].wheel)


@each
def test_no_archive_has_the_four_links_at_the_top(archives: dict[str, Archives], name: str) -> None:
    """They are links into adocd, where all that is below them is already."""
    links = {path.name for path in REPOSITORY.iterdir() if path.is_symlink()}
    assert links == {"api", "cli", "controllers", "probes"}
    assert {member.partition("/")[0] for member in archives[name].sdist_members} & links == set()
    assert {n.partition("/")[0] for n in names(archives[name].wheel)} & links == set()


@each
def test_no_archive_has_raw_results(archives: dict[str, Archives], name: str) -> None:
    """They are in the repository, and nobody who installs anything needs them."""
    raw = {path.name for path in (REPOSITORY / "bench" / "results").rglob("*.json.xz")}
    assert len(raw) > 50
    packed = [*archives[name].sdist_members, *names(archives[name].wheel)]
    assert [member for member in packed if member.endswith(".xz") or "bench/results/" in member] == []


def test_the_agents_and_the_protocol_travel(archives: dict[str, Archives]) -> None:
    native = REPOSITORY / "agents" / "native"
    expected = set()
    for pattern in ("CMakeLists.txt", "exports.map", "src/*", "include/**/*.h", "cmake/*", "packaging/*"):
        found = {f"adocd/_agents/native/{path.relative_to(native)}" for path in native.glob(pattern) if path.is_file()}
        assert found, pattern
        expected |= found
    expected |= {
        f"adocd/_agents/python/{path.relative_to(DISTRIBUTIONS['adocd_agent'])}"
        for path in DISTRIBUTIONS["adocd_agent"].glob("adocd_agent/**/*.py")
    }
    java = REPOSITORY / "agents" / "java"
    for pattern in ("pom.xml", "src/main/**/*.java", "src/main/resources/META-INF/LICENSE", "src/main/**/asm.txt"):
        found = {f"adocd/_agents/java/{path.relative_to(java)}" for path in java.glob(pattern)}
        assert found, pattern
        expected |= found
    expected.add("adocd/_agents/admin-api.yaml")
    assert expected - set(names(archives["adocd"].wheel)) == set()


def test_the_simulators_lease_machine_is_the_agents(archives: dict[str, Archives]) -> None:
    """A link in the tree, and a file of its own in every wheel."""
    expected = (DISTRIBUTIONS["adocd_agent"] / "adocd_agent" / "lease_machine.py").read_bytes()
    places = {
        "adocd": ("adocd/simulator/lease_machine.py", "adocd/_agents/python/adocd_agent/lease_machine.py"),
        "adocd_agent": ("adocd_agent/lease_machine.py",),
    }
    for name, paths in places.items():
        for wheel in (archives[name].wheel, archives[name].wheel_of_sdist):
            with zipfile.ZipFile(wheel) as content:
                assert [content.read(path) == expected for path in paths] == [True] * len(paths)
                assert not any((content.getinfo(path).external_attr >> 16) & 0o170000 == 0o120000 for path in paths)


def test_the_load_generator_travels_with_the_bench(archives: dict[str, Archives]) -> None:
    bench = DISTRIBUTIONS["adocd_bench"]
    sources = {path for path in (bench / "adocd_bench" / "load" / "native").rglob("*") if path.is_file()}
    assert {path.suffix for path in sources} == {".cc", ".h", ".txt"}
    assert {str(path.relative_to(bench)) for path in sources} - set(names(archives["adocd_bench"].wheel)) == set()


@each
def test_a_wheel_comes_out_the_same_by_way_of_the_source_archive(archives: dict[str, Archives], name: str) -> None:
    def contents(wheel: Path) -> dict[str, bytes]:
        with zipfile.ZipFile(wheel) as content:
            return {name: content.read(name) for name in content.namelist()}

    direct, again = contents(archives[name].wheel), contents(archives[name].wheel_of_sdist)
    assert sorted(direct) == sorted(again)
    assert [n for n in direct if direct[n] != again[n]] == []


def test_the_source_archive_is_the_whole_checkout(archives: dict[str, Archives]) -> None:
    """All but the raw results, and links to directories: no source archive of hatchling keeps those."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    expected = {name for name in listed.stdout.split("\0") if name and (REPOSITORY / name).is_file()}
    expected = {name for name in expected if not name.startswith("bench/results/")}
    assert expected - archives["adocd"].sdist_names == set()
    assert {".ci/run", "Makefile", "requirements.lock", "tests/conftest.py", "examples/adocd.toml"} <= expected


@each
def test_what_an_index_shows(archives: dict[str, Archives], name: str) -> None:
    about = metadata(archives[name].wheel)
    assert about["License-Expression"] == "Apache-2.0"
    assert about.get_all("License-File") == ["LICENSE"]
    assert about["Description-Content-Type"] == "text/markdown"
    assert str(about.get_payload()).strip() == (DISTRIBUTIONS[name] / "README.md").read_text().strip()


@each
def test_the_license_is_the_same(name: str) -> None:
    """A distribution's license files must be below its pyproject.toml, so each has its own."""
    assert (DISTRIBUTIONS[name] / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_neither_needs_the_other(archives: dict[str, Archives]) -> None:
    """The daemon's host and the Python program's are often two environments, and the agent must not add to its host."""
    assert needed(archives["adocd_agent"].wheel) == set()
    assert [line for line in needed(archives["adocd"].wheel) if line.startswith("adocd")] == []


def needed(wheel: Path) -> set[str]:
    """What is installed with it where no extra is asked for."""
    return {line for line in metadata(wheel).get_all("Requires-Dist") or [] if "extra ==" not in line}


def test_the_bench_needs_the_adocd_of_its_version_and_is_an_extra_of_it(archives: dict[str, Archives]) -> None:
    """It uses adocd's own modules, which change from one version to the next."""
    bench = metadata(archives["adocd_bench"].wheel)
    assert f"adocd=={bench['Version']}" in needed(archives["adocd_bench"].wheel)
    assert bench["Version"] == metadata(archives["adocd"].wheel)["Version"]
    assert "adocd-bench; extra == 'bench'" in (metadata(archives["adocd"].wheel).get_all("Requires-Dist") or [])


def test_the_bench_needs_what_it_imports(archives: dict[str, Archives]) -> None:
    imported = set()
    for file in (DISTRIBUTIONS["adocd_bench"] / "adocd_bench").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])
    # The Python agent travels with adocd, and the programs of the bench find it there.
    foreign = imported - sys.stdlib_module_names - {"adocd_bench", "adocd_agent"}
    distributions = {re.split("[^a-z-]", line)[0] for line in needed(archives["adocd_bench"].wheel)}
    assert distributions == foreign
