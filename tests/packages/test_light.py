"""The wheel alone, which a database host needs, and with the page: what each serves, and says of what is missing."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from adocd.cli import adocctl, adocd
from tests.packages.conftest import Archives
from tests.packages.environment import Environment
from tests.support.waiting import eventually

INSTALL_PAGE = "pip install 'adocd[page]'"
COMMANDS = [("adocd", name) for name in adocd.ENTRIES] + [("adocctl", name) for name in adocctl.ENTRIES]
#: Runs `PROGRAM NAME --help` for each pair of its arguments, forked from a process that has imported the program alone.
HELP = """
import importlib, json, os, sys, tempfile
said = []
for program, name in zip(sys.argv[1::2], sys.argv[2::2]):
    main = importlib.import_module(f"adocd.cli.{program}").main
    out = tempfile.TemporaryFile()
    if (pid := os.fork()) == 0:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        sys.argv = [program, name, "--help"]
        sys.exit(main())
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    out.seek(0)
    said.append((status, out.read().decode()))
print(json.dumps(said))
"""


@dataclass(frozen=True)
class Served:
    """A daemon with a TCP side."""

    run_dir: Path
    log: Path
    port: int

    def get(self, path: str) -> tuple[int, str, str]:
        """Ask as a browser does: status, type and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type") or "", answer.read().decode()


@contextlib.contextmanager
def serving(environment: Environment, run_dir: Path) -> Iterator[Served]:
    """Run its `adocd serve` while the block runs, with no agent there."""
    log = run_dir / "serve.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [environment.root / "bin" / "adocd", "serve", "--port", "0"],
            cwd=environment.home,
            env={"PATH": os.defpath, "HOME": str(environment.home), "ADOCD_RUN_DIR": str(run_dir)},
            stderr=stderr,
        )
    try:
        eventually(lambda: "serving at " in log.read_text(), within_s=180, what="the daemon serves")
        port = re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text())
        assert port is not None
        yield Served(run_dir, log, int(port[1]))
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, log.read_text()


def test_it_brings_nothing_of_page_and_bench(light: Environment) -> None:
    installed = light.installed()
    assert {"adocd", "fastapi", "prometheus-client", "typer"} <= installed
    assert installed.isdisjoint({"aiohttp", "nicegui", "python-socketio", "rocksdict", "uvloop", "websockets"})


@pytest.fixture(scope="module")
def help_texts(light: Environment) -> dict[tuple[str, str], tuple[int, str]]:
    done = light.run("python", "-c", HELP, *(word for pair in COMMANDS for word in pair))
    return {which: (status, said) for which, (status, said) in zip(COMMANDS, json.loads(done.ok()), strict=True)}


@pytest.mark.parametrize("which", COMMANDS, ids="-".join)
def test_every_command_says_what_it_does(
    help_texts: dict[tuple[str, str], tuple[int, str]], which: tuple[str, str]
) -> None:
    status, said = help_texts[which]
    assert status == 0, said
    assert f"Usage: {' '.join(which)} " in said


def test_it_serves_rest_and_metrics_and_says_what_the_page_needs(light: Environment, run_dir: Path) -> None:
    with serving(light, run_dir) as served:
        assert INSTALL_PAGE in served.log.read_text()
        for path in ("/", "/page", "/page/", "/page/target/x"):
            status, kind, said = served.get(path)
            assert (status, kind.partition(";")[0]) == (404, "text/plain"), path
            assert said.startswith(f"The page is not installed: {INSTALL_PAGE}")
        assert served.get("/v1/targets")[0] == 200
        # On a busy machine the daemon takes long over its first description, and the web process says so by a 503.
        eventually(lambda: served.get("/docs")[0] == 200, what="the daemon describes its REST")
        status, _, metrics = served.get("/metrics")
        assert (status, "adocd_build_info" in metrics) == (200, True)
        assert "No target" in light.run("adocctl", "targets", ADOCD_RUN_DIR=str(run_dir)).ok()
        light.run("adocctl", "doctor", ADOCD_RUN_DIR=str(run_dir)).ok()
    assert "Traceback" not in served.log.read_text()


def test_without_a_daemon(light: Environment, run_dir: Path) -> None:
    light.run("adocctl", "targets", ADOCD_RUN_DIR=str(run_dir)).failed(3, "no daemon answers")
    assert "adoc" in light.run("adocctl", "controllers", ADOCD_RUN_DIR=str(run_dir)).ok()


def test_the_page_is_an_extra(archives: dict[str, Archives], tmp_path: Path, run_dir: Path) -> None:
    environment = Environment(tmp_path / "page", Path(f"{archives['adocd'].wheel}[page]"))
    with serving(environment, run_dir) as served:
        assert served.get("/")[0] == 307
        status, kind, said = served.get("/page/")
        assert (status, kind.partition(";")[0]) == (200, "text/html")
        assert "adocd" in said
        assert INSTALL_PAGE not in served.log.read_text()
