"""Which native agent is taken: the user's own build or the system's, and which of those at all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from adocd.process import compiled, native
from tests.cli.harness import command


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> compiled.RocksDb:
    """A librocksdb in a directory of its own, and a user without a cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return compiled.RocksDb(tmp_path / "lib" / "librocksdb.so.7.8.3", "cafe")


def system_agent(library: compiled.RocksDb, **note: str) -> Path:
    """Put an agent where a package would."""
    agent = library.path.with_name(native.LIBRARY)
    written = agent.parent / "adocd" / "agent.json"
    written.parent.mkdir(parents=True)
    written.write_text(json.dumps({"adocd": "0.1.0", "protocol": "1.0", "rocksdb_build_id": "cafe"} | note))
    agent.touch()
    return agent


def own_agent(library: compiled.RocksDb, digest: str) -> Path:
    """Put an agent where `adocd agent build` does."""
    agent = native.product().directory(library) / native.LIBRARY
    agent.parent.mkdir(parents=True)
    agent.with_name("agent.json").write_text(json.dumps({"sources": digest}))
    agent.touch()
    return agent


def test_the_systems_agent_is_taken_where_the_user_has_none(library: compiled.RocksDb) -> None:
    agent = system_agent(library)
    assert native.find(library) == agent


@pytest.mark.parametrize("note", [{"adocd": "0.0.9", "protocol": "1.0"}, {"adocd": "1.9.0", "protocol": "1.99"}])
def test_an_older_or_newer_one_is_taken_within_the_major_version(
    library: compiled.RocksDb, note: dict[str, str]
) -> None:
    agent = system_agent(library, **note)
    assert native.find(library) == agent


def test_one_of_another_major_version_is_not(library: compiled.RocksDb) -> None:
    agent = system_agent(library, protocol="2.0")
    with pytest.raises(compiled.NativeError, match=f"{agent} speaks version 2.0 of the admin protocol, which adocd"):
        native.find(library)


def test_one_for_another_librocksdb_is_not(library: compiled.RocksDb) -> None:
    system_agent(library, rocksdb_build_id="beef")
    with pytest.raises(compiled.NativeError, match=r"it was built for another one \(beef\)"):
        native.find(library)


def test_a_library_without_its_note_is_not(library: compiled.RocksDb) -> None:
    agent = system_agent(library)
    (agent.parent / "adocd" / "agent.json").unlink()
    with pytest.raises(compiled.NativeError, match="it has not been built"):
        native.find(library)


def test_the_users_own_goes_before_it(library: compiled.RocksDb) -> None:
    system_agent(library)
    own = own_agent(library, compiled.digest(native.product().sources))
    assert native.find(library) == own


def test_but_not_when_it_is_of_other_sources(library: compiled.RocksDb) -> None:
    agent = system_agent(library)
    own_agent(library, "others")
    assert native.find(library) == agent


@pytest.fixture
def built(library: compiled.RocksDb, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the compiler has made."""
    made = library.path.with_name(native.LIBRARY)
    made.parent.mkdir(parents=True)
    made.write_text("compiled")
    monkeypatch.setattr(compiled.Product, "_compile", lambda *_: made)
    return made


def test_it_is_built_into_a_directory_that_is_not_there_yet(
    library: compiled.RocksDb, built: Path, tmp_path: Path
) -> None:
    output = tmp_path / "image" / "lib" / native.LIBRARY
    assert native.product().build(library, output) == output
    assert output.read_text() == built.read_text()
    assert not (tmp_path / "cache").exists(), "nothing else is made"


def test_where_nothing_can_be_made_another_place_is_proposed(
    library: compiled.RocksDb, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(compiled.NativeError, match=f"{built}/agent.so cannot be written: .*; choose another --output$"):
        native.product().build(library, built / "agent.so")
    monkeypatch.setenv("XDG_CACHE_HOME", str(built))
    with pytest.raises(compiled.NativeError, match=r"cannot be written: .*; set XDG_CACHE_HOME$"):
        native.product().build(library)


@pytest.mark.parametrize("java", [(), ("--java",)])
def test_a_directory_is_no_file_to_build(run_dir: Path, java: tuple[str, ...]) -> None:
    done = command("adocd", "agent", "build", *java, "--output", str(run_dir), run_dir=run_dir)
    done.failed(2, f"--output is the directory {run_dir}; name a file in it")


def test_headers_of_another_version_are_refused(tmp_path: Path) -> None:
    """A library that was compiled by them would corrupt its host."""
    headers = tmp_path / "include" / "rocksdb"
    headers.mkdir(parents=True)
    (headers / "version.h").write_text("#define ROCKSDB_MAJOR 4\n#define ROCKSDB_MINOR 2\n")
    configure = ["cmake", "-S", str(native.product().sources), "-B", str(tmp_path / "build")]
    configure += [f"-DROCKSDB_LIBRARY={compiled.rocksdb().path}", f"-DROCKSDB_INCLUDE={headers.parent}"]
    done = subprocess.run(configure, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"but the headers in {headers.parent} are of 4.2; install those that belong to the library" in done.stderr


def test_a_library_that_is_no_librocksdb_is_refused_before_anything_is_compiled(run_dir: Path) -> None:
    libc = next(path for path in Path("/usr/lib").glob("*/libc.so.6"))
    with pytest.raises(compiled.NativeError, match="is not a librocksdb: it has no rocksdb::DB::Open"):
        compiled.rocksdb(libc)
