"""The systemd units: a service under the agent by a drop-in, and the daemon."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.harness import command, serving
from tests.conftest import REPOSITORY
from tests.examples import units
from tests.examples.systemd import Systemd
from tests.support.waiting import eventually

pytestmark = pytest.mark.long

UNITS = REPOSITORY / "examples" / "systemd"
DROP_IN = "/etc/systemd/system/adocd.service.d/hasty.conf"
PREPARE = """
install -D -m 644 agents/native/packaging/sysusers.conf /etc/sysusers.d/adocd.conf && systemd-sysusers
install -D -m 644 agents/native/packaging/tmpfiles.conf /etc/tmpfiles.d/adocd.conf
install -m 644 -t /etc/systemd/system examples/systemd/adocd.service examples/systemd/mydb.service
install -D -m 644 -t /etc/systemd/system/mydb.service.d examples/systemd/mydb.service.d/adocd.conf
"""


def listed(systemd: Systemd) -> list[Any]:
    done = systemd.run("adocctl targets --json")
    return json.loads(done.out)["targets"] if done.status == 0 else []


def test_a_hardened_service_is_attached_to_and_steered(systemd: Systemd, native_agent_library: Path) -> None:
    systemd.run(PREPARE).ok()
    systemd.run(f"install -m 755 {native_agent_library} /usr/local/lib/libadocd_agent.so; ldconfig").ok()
    systemd.run("systemd-tmpfiles --create adocd.conf; systemctl daemon-reload").ok()
    systemd.run("systemctl start adocd mydb").ok()
    (target,) = eventually(lambda: listed(systemd), what="the database is attached to")
    assert target["path"] == "/var/lib/mydb/db"
    assert target["process"]["program"] == "db_bench"
    users = systemd.run("ps --no-headers -o user:20 -p $(systemctl show -P MainPID adocd mydb | xargs | tr ' ' ,)").ok()
    assert sorted(users.split()) == ["adocd", "mydb"], "neither runs as root"
    systemd.run("adocctl set-policy adoc").ok()
    eventually(lambda: lease(systemd), what="the daemon holds the database")

    eventually(lambda: status(systemd).startswith("1 database"), what="systemctl status says what it does")
    systemd.run(
        "install -d /etc/adocd; printf '[daemon]\\ntick_s = 0.5\\nlog_format = \"json\"\\n' > /etc/adocd/adocd.toml"
    ).ok()
    systemd.run("systemctl reload adocd").ok()
    eventually(lambda: "taken: daemon.tick_s 1.0 -> 0.5; not taken: daemon.log_format" in status(systemd))

    systemd.run("systemctl restart adocd").ok()
    again = eventually(lambda: listed(systemd), what="a new daemon finds the running database")
    assert again[0]["process"]["pid"] == target["process"]["pid"]
    assert again[0]["policy"]["controller"] == "adoc", "it remembers"
    assert systemd.run("stat --format='%U %a' /var/lib/adocd /var/lib/adocd/journal.sqlite").ok() == (
        "adocd 700\nadocd 600\n"
    )
    systemd.run("systemctl stop mydb").ok()
    eventually(lambda: listed(systemd)[0]["state"] == "closed", what="its end is noticed")
    systemd.run("systemctl stop adocd").ok()
    assert "Traceback" not in systemd.log()


def lease(systemd: Systemd) -> bool:
    return bool(json.loads(systemd.run("adocctl status --json").ok())["lease"])


def status(systemd: Systemd) -> str:
    return systemd.run("systemctl show -P StatusText adocd").ok()


def test_a_daemon_that_hangs_is_started_anew(systemd: Systemd) -> None:
    systemd.run(PREPARE + "systemd-tmpfiles --create adocd.conf").ok()
    hasty = "[Service]\\nWatchdogSec=2\\nTimeoutAbortSec=5\\n"
    systemd.run(f"install -d /etc/systemd/system/adocd.service.d; printf '{hasty}' > {DROP_IN}").ok()
    systemd.run("systemctl daemon-reload; systemctl start adocd").ok()
    before = systemd.run("systemctl show -P MainPID adocd").ok()
    assert systemd.run("systemctl show -P ActiveState adocd").ok() == "active\n", "it is started once it serves"
    systemd.run(f"kill -STOP {before}").ok()
    eventually(
        lambda: systemd.run("systemctl show -P NRestarts adocd").ok() != "0\n",
        every_s=0.3, what="the watchdog ends it",
    )  # fmt: skip
    eventually(
        lambda: systemd.run("systemctl show -P ActiveState adocd").ok() == "active\n",
        every_s=0.3, what="it serves again",
    )  # fmt: skip
    assert systemd.run("systemctl show -P MainPID adocd").ok() != before


def test_only_the_daemon_is_told_to_stop() -> None:
    """Systemd would end the web process at once, and the daemon start another while it restores."""
    assert units.settings(UNITS / "adocd.service")["KillMode"] == ["mixed"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_daemon_is_confined() -> None:
    """By systemd's own score from 0 to 10; the example's has 1.5."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(UNITS / "adocd.service")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_service_starts_without_agent_and_run_directory(systemd: Systemd) -> None:
    systemd.run(PREPARE + "systemctl daemon-reload; systemctl start mydb").ok()
    eventually(lambda: "finished 1000 ops" in systemd.log(), what="it writes")
    assert "'libadocd_agent.so' from LD_PRELOAD cannot be preloaded" in systemd.log()


def test_a_drop_in_without_its_group_keeps_the_service_from_starting(systemd: Systemd) -> None:
    """Why docs/uninstall.md has all drop-ins removed before the account."""
    systemd.run(PREPARE + "userdel adocd; systemctl daemon-reload; systemctl start mydb").ok()
    eventually(lambda: systemd.run("systemctl show -P ExecMainStatus mydb").ok() == "216\n", what="216/GROUP")


def test_another_address_by_a_drop_in(systemd: Systemd) -> None:
    systemd.run(PREPARE + "systemd-tmpfiles --create adocd.conf; install -d /etc/adocd").ok()
    systemd.run("printf '[web]\\nlisten = \"[::]:0\"\\n' > /etc/adocd/adocd.toml; systemctl daemon-reload").ok()
    systemd.run("systemctl start adocd").ok()
    systemd.run("adocctl token create grafana").ok()
    eventually(lambda: "cannot be had on ::" in status(systemd), what="the unit has no IPv6")
    systemd.run(
        "install -D -m 644 -t /etc/systemd/system/adocd.service.d examples/systemd/adocd.service.d/listen.conf; "
        "systemctl daemon-reload; systemctl restart adocd"
    ).ok()
    eventually(lambda: "on http://[::]:" in systemd.log(), what="it serves IPv6, too")
    allowed = systemd.run("systemctl show -P IPAddressAllow adocd").ok().split()
    assert {"127.0.0.0/8", "10.0.0.0/8", "fd00::/8"} <= set(allowed)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", ["adocd.service", "mydb.service"])
def test_the_units_are_valid(unit: str) -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(UNITS / unit)], capture_output=True, text=True, check=False
    )
    problems = [line for line in done.stderr.splitlines() if unit in line and "is not executable" not in line]
    assert problems == []


def test_the_environment_is_what_the_agent_needs(run_dir: Path, native_agent_library: Path) -> None:
    """Stands in for systemd (tests/examples/units.py), so that something is shown where none can be booted."""
    read = units.settings(UNITS / "mydb.service", UNITS / "mydb.service.d" / "adocd.conf")
    daemon = units.settings(UNITS / "adocd.service")
    environment = units.environment(read)
    assert environment == {"LD_PRELOAD": native_agent_library.name, "ADOCD_RUN_DIR": "/run/adocd"}
    assert units.environment(daemon)["ADOCD_RUN_DIR"] == environment["ADOCD_RUN_DIR"]
    environment |= {"ADOCD_RUN_DIR": str(run_dir), "LD_LIBRARY_PATH": str(native_agent_library.parent)}
    arguments = [word.replace("/var/lib/mydb", str(run_dir)) for word in units.command(read)]
    service = subprocess.Popen(
        arguments, env=dict(os.environ) | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with serving(run_dir, *units.command(daemon)[2:]):
            eventually(lambda: "db_bench" in command("adocctl", "targets", run_dir=run_dir).out)
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(60)
