"""Checks of TCP: whether it is served, whether the configured address is usable, and who has a token."""

import http.client
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.cli.doctor.finding import DoctorFinding, ok, problem, warning
from adocd.daemon.book.state_dir import journal_path
from adocd.daemon.book.tokens import TokenError, TokenStore, tokens_path
from adocd.daemon.fleet import address
from adocd.daemon.fleet.address import Address
from adocd.daemon.fleet.config import ConfigError, load
from adocd.targets import run_dir

_PATIENCE_S = 3.0
_WEEK_S = 7 * 86400.0
_MAKE = "adocctl token create NAME"


def served(answer: dict[str, Any]) -> Iterator[DoctorFinding]:
    """Ask the TCP side, if the daemon has one."""
    import psutil  # noqa: PLC0415

    check = "web"
    if trouble := answer.get("web_problem"):  # an older daemon has none
        what, _, way_out = trouble.partition("; ")
        yield problem(check, what, way_out or "it is tried again every two seconds")
        return
    try:
        processes = [p for p in psutil.Process(answer["pid"]).children() if "adocd.api.web" in p.cmdline()]
        listening = {
            (c.laddr.ip, c.laddr.port)
            for process in processes
            for c in process.net_connections("inet")
            if c.status == psutil.CONN_LISTEN
        }
    except psutil.Error as error:
        yield ok(check, f"this user cannot see whether it serves TCP ({error}); ask as root")
        return
    if not listening:
        yield ok(check, "it serves no TCP: `adocd serve --port N` would, for metrics and the page")
    for ip, port in sorted(listening):
        yield _answers(check, ip, port)


def _answers(check: str, address: str, port: int) -> DoctorFinding:
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104
    connection = http.client.HTTPConnection(reached, port, timeout=_PATIENCE_S)
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return problem(check, f"{address}:{port} does not answer: {error}", "the daemon starts it anew within a second")
    finally:
        connection.close()
    if status >= 500:
        return problem(check, f"{address}:{port} answers with status {status}", "look into the daemon's log")
    return ok(check, f"{address}:{port} answers")


def tokens(directory: Path, now_s: float | None = None) -> Iterator[DoctorFinding]:
    """Check the tokens, through the daemon if it answers: whether any is valid, and for how long."""
    now_s, check = time.time() if now_s is None else now_s, "tokens"
    try:
        kept = _ends(directory)
    except (TokenError, RestError) as error:
        yield problem(check, f"nobody's token is good: {error}", f"then make them anew: {_MAKE}")
        return
    good = {name: end_s for name, end_s in kept.items() if end_s is None or end_s > now_s}
    soon = {name: end_s for name, end_s in good.items() if end_s is not None and end_s <= now_s + _WEEK_S}
    if not kept:
        yield ok(check, f"there is none: over TCP nobody changes anything and only loopback reads; {_MAKE} makes one")
    elif not good:
        yield warning(check, f"every one has expired: {', '.join(kept)}", f"make another: {_MAKE}")
    elif soon:
        ends = ", ".join(
            f"{name} at {time.strftime('%Y-%m-%d %H:%M', time.localtime(end))}" for name, end in soon.items()
        )
        yield warning(check, f"expires within a week: {ends}", f"make another and replace it where it is used: {_MAKE}")
    else:
        yield ok(check, f"{len(good)} of {len(kept)} are good")


def _ends(directory: Path) -> dict[str, float | None]:
    """Return the tokens' names and their expiry in unix seconds; None: never."""
    try:
        listed = RestClient(run_dir.daemon_socket(directory), timeout_s=_PATIENCE_S).get("/v1/tokens")["tokens"]
    except NoDaemon:
        store = TokenStore(tokens_path(journal_path(directory)))
        return {token.name: token.expires_unix_s for token in store.tokens()}
    return {token["name"]: token["expires_unix_s"] for token in listed}


def configured(file: Path, directory: Path, *, answers: bool) -> Iterator[DoctorFinding]:
    """Check whether a daemon that starts now could serve the configured address; a running one reports it itself."""
    try:
        listen = load(file).web.listen
    except ConfigError:
        return  # the configuration's own check reports that, or there is none
    if not listen or answers:
        return
    check, where = "web", address.parse(listen)
    holder = _holder(where)
    if holder is not None:
        yield problem(
            check,
            f"[web] listen of {file} is {where}, and {holder} listens there",
            "stop that process, or choose another port",
        )
    elif not where.is_loopback and not _has_good_token(directory):
        yield warning(
            check, f"[web] listen of {file} is {where}, where clients need a token, and there is no valid one",
            f"it is not served until there is one: {_MAKE}",
        )  # fmt: skip
    else:
        yield ok(check, f"{where} of {file} is free")


def _has_good_token(directory: Path) -> bool:
    try:
        return bool(TokenStore(tokens_path(journal_path(directory))).usable())
    except TokenError:
        return False


def _holder(where: Address) -> str | None:
    """Name the process that occupies an address; None if the address is free."""
    import psutil  # noqa: PLC0415

    everywhere = {"0.0.0.0", "::"}  # noqa: S104
    for connection in psutil.net_connections("tcp"):
        if connection.status != psutil.CONN_LISTEN or not connection.laddr or not where.port:
            continue
        ip, port = connection.laddr.ip, connection.laddr.port
        if port == where.port and (ip == where.host or ip in everywhere or where.host in everywhere):
            return _name(connection.pid)
    return None


def _name(pid: int | None) -> str:
    import psutil  # noqa: PLC0415

    try:
        return "another program" if pid is None else f"{psutil.Process(pid).name()} ({pid})"
    except psutil.Error:
        return f"process {pid}"
