"""The Debian package of the native agent.

As root it is really installed on this machine, used and purged, whatever fails meanwhile. Without root the same tests
run on the package unpacked beside a copy of librocksdb, and only what the package's scripts do goes untested.
"""

from __future__ import annotations

import contextlib
import fcntl
import grp
import json
import os
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from adocd.process import compiled, native
from tests.cli.harness import Done, command
from tests.conftest import REPOSITORY
from tests.packages import pages
from tests.packages.test_version import VERSION
from tests.support import contract
from tests.support.agent_client import AgentClient
from tests.support.programs import Program, environment

pytestmark = pytest.mark.alone
PACKAGE = "adocd-agent-native"
RUN = Path("/run/adocd")
STATE = Path("/var/lib/adocd")
as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="what the package's scripts do to a machine needs root to be seen"
)


def said_by(*words: str | Path) -> str:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class Deb:
    """The package's file, and what is in it."""

    file: Path
    files: dict[str, str]

    def field(self, name: str) -> str:
        """A field of its control file."""
        return said_by("dpkg-deb", "--field", self.file, name).strip()

    def path(self, name: str) -> str:
        """The path of the one file in it with this name."""
        (found,) = (path for path in self.files if path.endswith(f"/{name}"))
        return found


@pytest.fixture(scope="module")
def deb(tmp_path_factory: pytest.TempPathFactory) -> Deb:
    """Make it as `make deb` does, from the build tree that `make agent` has made."""
    output = tmp_path_factory.mktemp("deb")
    done = subprocess.run(
        [REPOSITORY / "packaging" / "deb", REPOSITORY / ".cache" / "agent", output],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = output.iterdir()
    listed = [line.split(maxsplit=5) for line in said_by("dpkg-deb", "--contents", file).splitlines()]
    assert {owner for _, owner, *_ in listed} == {"root/root"}
    return Deb(file, {path.removeprefix("."): mode for mode, *_, path in listed if not path.endswith("/")})


@dataclass(frozen=True)
class Place:
    """Where the package is: its library, and how a command comes to look there."""

    library: Path
    environment: dict[str, str]
    rocksdb: list[str]
    had_account: bool
    had_run: bool


@pytest.fixture(scope="module")
def place(deb: Deb, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Install it and purge it at the end; without root unpack it beside a copy of librocksdb."""
    library = deb.path(native.LIBRARY)
    before = has_account(), RUN.exists() and any(file.name != "daemon.lock" for file in RUN.iterdir())
    if os.geteuid() == 0:
        with installed(deb):
            yield Place(Path(library), {}, [], *before)
    else:
        root = tmp_path_factory.mktemp("root")
        said_by("dpkg-deb", "-x", deb.file, root)
        unpacked = root / library.removeprefix("/")
        copy = Path(shutil.copy(compiled.rocksdb().path, unpacked.parent))
        (unpacked.parent / soname(copy)).symlink_to(copy.name)
        yield Place(unpacked, {"LD_LIBRARY_PATH": str(unpacked.parent)}, ["--rocksdb", str(copy)], *before)


def soname(library: Path) -> str:
    found = re.search(r"\(SONAME\).*\[(.+)\]", said_by("readelf", "--dynamic", library))
    assert found is not None
    return found[1]


@contextlib.contextmanager
def installed(deb: Deb) -> Iterator[None]:
    """Install the package while the block runs, and put this machine back as it was."""
    status = subprocess.run(["dpkg-query", "--show", PACKAGE], capture_output=True, text=True, check=False)
    assert status.returncode != 0, f"{PACKAGE} is installed on this machine, and this test would purge it: do so first"
    assert not STATE.exists(), (
        f"there is a daemon's journal in {STATE}, and this test would purge it: move it away first"
    )
    before = RUN.stat() if RUN.exists() else None
    try:
        pages.run(pages.line("upgrade.md", "apt-get install ./dist/adocd-agent-native_*.deb"), deb.file.parent)
        yield
    finally:
        said_by("dpkg", "--purge", PACKAGE)
        if before is not None:  # purging has left it if somebody's sockets are in it, and removed it if not
            RUN.mkdir(exist_ok=True)
            os.chown(RUN, before.st_uid, before.st_gid)
            RUN.chmod(stat.S_IMODE(before.st_mode))


def has_account() -> bool:
    return any(user.pw_name == "adocd" for user in pwd.getpwall()) or any(g.gr_name == "adocd" for g in grp.getgrall())


def run(place: Place, run_dir: Path, *words: str, **more: str) -> Done:
    """Run adocd as a user who has never built an agent."""
    home = run_dir / "home"
    home.mkdir(exist_ok=True)
    own = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    return command("adocd", *words, run_dir=run_dir, **(own | place.environment | more))


def test_what_it_says_of_itself(deb: Deb) -> None:
    assert VERSION is not None
    owner = said_by("dpkg-query", "--search", compiled.rocksdb().path).partition(": ")[0]
    rocksdb, version = said_by("dpkg-query", "--show", "--showformat=${Package} ${Version}", owner).split()
    assert deb.field("Package") == PACKAGE
    assert deb.field("Version") == f"{VERSION[1]}+rocksdb{version.partition(':')[2] or version}"
    assert deb.field("Architecture") == said_by("dpkg", "--print-architecture").strip()
    assert deb.file.name == f"{PACKAGE}_{deb.field('Version')}_{deb.field('Architecture')}.deb"
    assert f"{rocksdb} (= {version})" in deb.field("Depends").split(", ")
    assert "libc6 (>= " in deb.field("Depends")
    assert "tune the RocksDB of a running program" in deb.field("Description")


def test_what_is_in_it(deb: Deb) -> None:
    libraries = str(Path(deb.path(native.LIBRARY)).parent)
    assert libraries == f"/usr/lib/{said_by('dpkg-architecture', '-qDEB_HOST_MULTIARCH').strip()}"
    documentation = f"/usr/share/doc/{PACKAGE}"
    assert deb.files == dict.fromkeys(
        [
            f"{libraries}/{native.LIBRARY}",
            f"{libraries}/adocd/agent.json",
            f"{libraries}/pkgconfig/adocd-agent.pc",
            "/usr/include/adocd/agent.h",
            "/usr/lib/sysusers.d/adocd.conf",
            "/usr/lib/tmpfiles.d/adocd.conf",
            f"{documentation}/README.md",
            f"{documentation}/changelog.Debian.gz",
            f"{documentation}/changelog.gz",
            f"{documentation}/copyright",
        ],
        "-rw-r--r--",
    )


def test_its_note_says_what_adocd_asks_for(deb: Deb, tmp_path: Path) -> None:
    assert VERSION is not None
    said_by("dpkg-deb", "-x", deb.file, tmp_path)
    note = json.loads((tmp_path / deb.path("agent.json").removeprefix("/")).read_text())
    assert note == {
        "adocd": VERSION[1],
        "protocol": contract.document()["info"]["version"],
        "rocksdb_build_id": compiled.rocksdb().build_id,
    }


def test_adocd_finds_it(place: Place, run_dir: Path) -> None:
    assert run(place, run_dir, "agent", "path", *place.rocksdb).ok() == f"{place.library}\n"


def test_exec_needs_no_compiler(place: Place, run_dir: Path) -> None:
    programs = run_dir / "bin"
    programs.mkdir()
    for name in ("db_bench", "ldd"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    words = ["exec", "--", "db_bench", "--benchmarks=fillseq", "--num=1000", f"--db={run_dir / 'db'}"]
    assert "fillseq" in run(place, run_dir, *words, PATH=str(programs)).ok()


def test_a_program_answers_with_it(place: Place, run_dir: Path, native_programs: Path, tmp_path: Path) -> None:
    """Preloaded by its bare name where it is installed, as a service's unit does."""
    preload = place.library if place.environment else Path(place.library.name)
    env = environment(preload, run_dir, **place.environment)
    with Program([native_programs / "lifecycle"], env) as program:
        program.ask("open", tmp_path / "db")
        with AgentClient(run_dir / f"agent-{program.pid}.sock") as client:
            assert VERSION is not None
            assert client.info()["agent"]["version"] == VERSION[1]


@as_root
def test_it_makes_the_account_and_the_run_directory(place: Place) -> None:
    account = pwd.getpwnam("adocd")
    assert account.pw_shell == "/usr/sbin/nologin"
    assert grp.getgrgid(account.pw_gid).gr_name == "adocd"
    assert (RUN.stat().st_gid, stat.S_IMODE(RUN.stat().st_mode)) == (account.pw_gid, 0o2770)


@as_root
def test_purging_it_leaves_what_is_in_use(place: Place) -> None:
    """The account while a unit names its group, and the lock while a daemon has it."""
    purge: list[str | Path] = ["sh", REPOSITORY / "agents" / "native" / "packaging" / "postrm", "purge"]
    unit, lock = Path("/run/systemd/system/adocd-test.service.d/group.conf"), RUN / "daemon.lock"
    unit.parent.mkdir(parents=True)
    try:
        unit.write_text("[Service]\nSupplementaryGroups=ssl-cert adocd\n")
        with lock.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            said_by(*purge)
            assert lock.exists()
        assert has_account()
        said_by(*purge)
        assert not lock.exists()
        assert has_account()
    finally:
        shutil.rmtree(unit.parent)
    assert place.library.exists(), "the package's own purge comes next"


@as_root
def test_purging_it_leaves_nothing(deb: Deb, place: Place) -> None:
    """The last one, for it takes the package from the others. Removing it leaves what a daemon has to remember."""
    STATE.mkdir()
    (STATE / "journal.sqlite").touch()
    said_by("dpkg", "--remove", PACKAGE)
    assert (STATE / "journal.sqlite").exists()
    pages.run(pages.line("uninstall.md", "apt-get purge"), deb.file.parent)
    assert [path for path in deb.files if os.path.lexists(path)] == []
    assert (has_account(), RUN.exists(), STATE.exists()) == (place.had_account, place.had_run, False)
