"""The shared library as a file: what it needs, what it exports, and linking it on purpose."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.native.conftest import Connect
from tests.support.elf import exported, loaded_library, needed
from tests.support.programs import Program, environment

REPOSITORY = Path(__file__).resolve().parents[2]
ALLOWED = re.compile(
    r"(librocksdb|libstdc\+\+|libgcc_s|libm|libc|ld-linux[-a-z0-9_]*|ld64|libpthread|libdl)\.so(\.[\d.]+)?"
)


def test_it_needs_nothing_that_rocksdb_does_not_bring(native_agent_library: Path) -> None:
    strange = [name for name in needed(native_agent_library) if not ALLOWED.fullmatch(name)]
    assert strange == []
    assert any(name.startswith("librocksdb") for name in needed(native_agent_library))


def test_it_exports_only_what_it_replaces_and_its_own(native_agent_library: Path, native_programs: Path) -> None:
    """Any other symbol could shadow one of the host's."""
    rocksdb = exported(loaded_library(native_programs / "lifecycle", "librocksdb"))
    symbols = exported(native_agent_library)
    own = {name for name in symbols if name.startswith("adocd_agent_")}
    assert own == {"adocd_agent_attach", "adocd_agent_start", "adocd_agent_version"}
    assert symbols - own <= rocksdb, "each of the others replaces one that librocksdb really has"
    others = {name for name in symbols - own if not name.startswith("_ZN7rocksdb6DBImpl")}
    assert len(others) == 1
    assert others.pop().startswith("_ZN7rocksdb11RateLimiter12RequestToken")
    assert any(name.startswith("_ZN7rocksdb6DBImpl4Open") for name in symbols)


def test_the_header_is_c(tmp_path: Path) -> None:
    """And C++, and without warnings: programs in any language bind to it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None
    include = REPOSITORY / "agents" / "native" / "include"
    source = tmp_path / "program.c"
    source.write_text("#include <adocd/agent.h>\nint f(void) { return adocd_agent_start(0, 0); }\n")
    for language, standard in (("c", "c99"), ("c++", "c++11")):
        subprocess.run(
            [
                compiler,
                "-Wall",
                "-Wextra",
                "-Werror",
                "-pedantic",
                f"-std={standard}",
                "-x",
                language,
                "-fsyntax-only",
                f"-I{include}",
                str(source),
            ],
            check=True,
        )


def linked_environment(run_dir: Path, library: Path) -> dict[str, str]:
    return environment(None, run_dir, LD_LIBRARY_PATH=str(library.parent))


def test_a_program_that_links_it(
    native_agent_library: Path, native_programs: Path, directory: Path, run_dir: Path, connect: Connect
) -> None:
    env = linked_environment(run_dir, native_agent_library)
    with Program([native_programs / "linked", directory / "db"], env) as program:
        assert re.fullmatch(r"agent \d+\.\d+\.\d+", program.lines[0])
        client = connect(program)
        assert client.info()["agent"]["version"] == program.lines[0].split()[1]
        assert client.only_database()["path"] == str((directory / "db").resolve())
        program.send("close")
        assert program.finish() == 0
        assert program.lines[-1] == "closed"
        assert program.stderr() == ""
    assert list(run_dir.iterdir()) == []


def test_a_program_that_links_it_in_the_wrong_order(
    native_agent_library: Path, native_programs: Path, directory: Path, run_dir: Path
) -> None:
    """The agent would see nothing then: it says so when it is started, and the program works on."""
    env = linked_environment(run_dir, native_agent_library)
    with Program([native_programs / "linked_wrong_order", directory / "db"], env) as program:
        assert program.lines[0].startswith("no agent: ")
        assert "librocksdb" in program.lines[0] or "-lrocksdb" in program.lines[0]
        assert list(run_dir.iterdir()) == []
        assert program.finish() == 0


def test_a_linked_program_with_the_agent_switched_off(
    native_agent_library: Path, native_programs: Path, directory: Path, run_dir: Path
) -> None:
    env = linked_environment(run_dir, native_agent_library) | {"ADOCD_AGENT": "off"}
    with Program([native_programs / "linked", directory / "db"], env) as program:
        assert program.lines[0].startswith("no agent: ")
        assert "ADOCD_AGENT=off" in program.lines[0]
        assert list(run_dir.iterdir()) == []
        assert program.finish() == 0
        assert program.stderr() == ""
