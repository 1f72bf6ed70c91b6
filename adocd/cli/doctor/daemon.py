"""Checks of the daemon itself: whether it answers, its version, and its systemd unit."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adocd import __version__
from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.cli.doctor.finding import DoctorFinding, ok, problem, warning
from adocd.targets import run_dir

_SYSTEMD = Path("/run/systemd/system")
_UNIT = "adocd.service"
_PATIENCE_S = 3.0


def health(directory: Path) -> tuple[dict[str, Any] | None, list[DoctorFinding]]:
    """Ask the daemon for its health; return its answer and the findings."""
    check, client = "daemon", RestClient(run_dir.daemon_socket(directory), timeout_s=_PATIENCE_S)
    try:
        answer: dict[str, Any] = client.get("/healthz")
        listed = client.get("/v1/targets")
    except (NoDaemon, RestError) as error:
        what, _, way_out = str(error).partition("; ")
        return None, [
            problem(check, f"{what}: nothing is controlled", way_out or "restart it: systemctl restart adocd")
        ]
    found = [_version(answer)]
    found += [
        warning("databases", why if why.startswith(place) else f"{place}: {why}", "it is tried again every second")
        for place, why in listed["problems"].items()
    ]
    count = sum(target["state"] != "closed" for target in listed["targets"])
    found.append(ok("databases", f"the daemon follows {count}"))
    return answer, found


def _version(answer: dict[str, Any]) -> DoctorFinding:
    what = f"pid {answer['pid']} answers, version {answer['version']}"
    if answer["version"] != __version__:
        return warning(
            "daemon", f"{what}; this adocctl is {__version__}", "restart the daemon: systemctl restart adocd"
        )
    return ok("daemon", what)


def systemd(*, answers: bool) -> Iterator[DoctorFinding]:
    """Ask systemd about the unit, if this machine runs systemd."""
    check = "systemd"
    if not _SYSTEMD.is_dir():
        yield ok(check, "this machine does not run systemd")
        return
    shown = _show()
    if shown is None:
        yield ok(check, "systemctl does not answer")
    elif shown.get("LoadState") == "not-found":
        yield ok(check, f"there is no unit {_UNIT}: examples/systemd has one")
    else:
        yield _unit(check, shown, answers=answers)


def _unit(check: str, shown: dict[str, str], *, answers: bool) -> DoctorFinding:
    state = (
        f"{_UNIT} is {shown.get('ActiveState')} ({shown.get('SubState')}), {shown.get('UnitFileState') or 'no state'}"
    )
    if shown.get("ActiveState") == "failed":
        return problem(check, f"{state}: {shown.get('Result')}", f"journalctl --unit {_UNIT} says why")
    if shown.get("ActiveState") != "active":
        way_out = f"systemctl start {_UNIT}"
        return ok(check, f"{state}, and a daemon answers") if answers else problem(check, state, way_out)
    if not answers:
        return problem(
            check, f"{state}, and no daemon answers here", "set ADOCD_RUN_DIR to the unit's, or ask as root"
        )  # fmt: skip
    if int(shown.get("NRestarts") or 0):
        return warning(check, f"{state}, restarted {shown['NRestarts']} times", f"journalctl --unit {_UNIT} says why")
    if shown.get("UnitFileState") == "disabled":
        return warning(check, f"{state}: it does not start at boot", f"systemctl enable {_UNIT}")
    return ok(check, state)


def _show() -> dict[str, str] | None:
    properties = "LoadState,ActiveState,SubState,UnitFileState,Result,NRestarts"
    try:
        done = subprocess.run(
            ["systemctl", "show", _UNIT, f"--property={properties}"],
            capture_output=True, text=True, check=False, timeout=_PATIENCE_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
