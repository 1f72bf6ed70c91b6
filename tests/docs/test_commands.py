"""Each command of README, guide and list of examples is run, as it is written, in order, by a reader's hand."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.docs.markdown import GUIDES, PAGES, blocks
from tests.docs.reader import Reader
from tests.docs.script import SYSTEMD, Command, Step, steps
from tests.docs.terminal import Terminal
from tests.examples.systemd import Systemd
from tests.support.turns import turn

pytestmark = pytest.mark.long

#: What `make setup` needs, for those who are not root.
PACKAGES = "python3-venv rocksdb-tools g++ cmake make binutils librocksdb-dev nlohmann-json3-dev libboost1.81-dev"
#: What cannot be run here: why, and what runs it instead.
ELSEWHERE = {
    "make setup": "makes the .venv anew that the suite runs in, where it is older than its pins; a fresh checkout's "
    "`make test` does the same",
    "make test": "is this suite; .ci/run runs it",
    "make demo": "takes a minute and a half; tests/bench runs the demo for some seconds",
    f"sudo apt-get install {PACKAGES}": "needs package registries; .ci/install-packages installs the same, as the test "
    "of that line says",
    "python3 -m venv /opt/adocd && /opt/adocd/bin/pip install .": "needs package registries; tests/packages installs "
    "it into an environment, and for the systemd here the checkout stands at its place",
    "/opt/adocd/bin/adocd agent build": "compiles for over a minute; `make test` has done it by `make agent`",
    "/opt/adocd/bin/pip install --upgrade dist/adocd-*.whl": "needs new archives; tests/packages",
    "apt-get install --only-upgrade librocksdb7.8 librocksdb-dev": "needs package registries",
    "apt-get install ./dist/adocd-agent-native_*.deb": "needs the Debian package; tests/packages",
    "apt-get install ./dist/adocd-agent-native_*.deb librocksdb7.8": "needs another librocksdb; tests/packages",
    "apt-get purge adocd-agent-native": "needs the Debian package; tests/packages",
}

#: What a newcomer follows: it must show a law act on any machine.
WALKTHROUGHS = (REPOSITORY / "README.md", REPOSITORY / "docs" / "guide.md")


@functools.cache
def script(file: Path) -> list[Step]:
    """List all that a document asks its reader to do."""
    return [step for block in blocks(file) if block.language == "sh" for step in steps(block)]


def under_systemd(step: Step) -> bool:
    """Tell whether a command is for a machine of its own: what root changes must never be changed on this one."""
    return isinstance(step, Command) and step.terminal == SYSTEMD


@pytest.fixture
def home(native_agent_library: Path) -> Iterator[Path]:
    """Make a home with nothing in it but the agent, compiled, where `adocd agent build` keeps it."""
    with tempfile.TemporaryDirectory(prefix="adocd-home-") as made:
        cache = Path("adocd") / "agent" / native_agent_library.parent.name
        if native_agent_library.parent.match(f"*/{cache}"):
            shutil.copytree(native_agent_library.parent, Path(made) / ".cache" / cache)
        yield Path(made)


@pytest.fixture
def reader(home: Path) -> Iterator[Reader]:
    """Welcome a reader; at the end nothing that they were told to start still runs, and their home is empty."""
    with turn("documents"):  # they name a port
        hired = Reader(home, ELSEWHERE)
        yield hired
        left = hired.end()
    assert left == [], "a document must say when to end what it starts"
    assert {path.name for path in home.iterdir()} <= {".adocd", ".cache"}


def typed(file: Path, *, systemd: bool) -> list[Command]:
    """List what of a document is run, on this machine or on one of its own."""
    commands = [step for step in script(file) if isinstance(step, Command) and step.bare not in ELSEWHERE]
    return [command for command in commands if under_systemd(command) == systemd]


#: docs/service.md is for the machine with systemd alone.
HERE = [file for file in GUIDES if typed(file, systemd=False)]


def test_something_of_each_guide_is_run() -> None:
    assert [file.name for file in GUIDES if file not in HERE] == ["service.md"]
    assert [file.name for file in (*GUIDES, *PAGES) if typed(file, systemd=True)] == [
        "service.md",
        "access.md",
        "upgrade.md",
        "uninstall.md",
    ]


@pytest.mark.parametrize("file", HERE, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_the_commands(file: Path, reader: Reader) -> None:
    for step in script(file):
        if not under_systemd(step):
            reader.follow(step)
    if file in WALKTHROUGHS:
        told = reader.terminals["3"].said()
        assert "dry-run" in told, "the walkthrough shows what the law would do"
        assert " applied" in told.partition("The policy is now adoc")[2], "and that it acts"


def test_the_commands_under_systemd(reader: Reader, systemd: Systemd) -> None:
    """The service that they are about is the example's."""
    systemd.run("cp examples/systemd/mydb.service /etc/systemd/system; systemctl daemon-reload").ok()
    environment = reader.environment | {"PATH": "/opt/adocd/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    reader.open_systemd = lambda: Terminal(
        "systemd", REPOSITORY, environment, systemd.enter("env", f"--chdir={REPOSITORY}")
    )
    commands = [step for file in (*GUIDES, *PAGES) for step in script(file) if under_systemd(step)]
    for command in commands:
        reader.follow(command)
    left = (
        systemd.run(
            "find /etc /usr/local/lib /run /var/lib -name '*adocd*' "
            "-not -name 'adocd-tests*' -not -path '/run/upper/*' -not -path '/var/lib/dpkg/*'"
        )
        .ok()
        .split()
    )
    assert left == ["/etc/adocd", "/etc/adocd/adocd.toml"], "uninstall.md removes all but the configuration"


def test_what_is_run_elsewhere_is_still_in_the_documents() -> None:
    written = {step.bare for file in (*GUIDES, *PAGES) for step in script(file) if isinstance(step, Command)}
    assert set(ELSEWHERE) <= written


@pytest.mark.parametrize("command", [command for command in ELSEWHERE if command.startswith("make ")])
def test_what_is_run_elsewhere_is_a_target_of_make(command: str) -> None:
    done = subprocess.run([*command.split(), "--dry-run"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_packages_are_those_that_make_installs() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    named = " ".join(re.findall(r"^(?:AGENT|DB_BENCH)_PACKAGES := (.*)$", makefile, re.MULTILINE)).replace("'", "")
    assert sorted(PACKAGES.split()) == sorted(["python3-venv", *(word.partition("|")[0] for word in named.split())])
