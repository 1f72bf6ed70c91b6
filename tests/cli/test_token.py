"""adocctl token, and what a token opens on a real daemon's TCP side."""

from __future__ import annotations

import http.client
import json
import socket
import time
from contextlib import closing
from pathlib import Path

import pytest

from adocd.api.client import MayNotAsk, NotInTime, RestClient
from adocd.cli import token as token_command
from adocd.cli.exits import Exit, Failure
from tests.cli.harness import command, log_of, serving
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually


def token(run_dir: Path, *arguments: str) -> str:
    """Make one; its secret."""
    return command("adocctl", "token", "create", *arguments, run_dir=run_dir).ok().strip()


def port(run_dir: Path) -> int:
    """Read off the log where it listens."""
    where = eventually(lambda: log_of(run_dir).partition("on http://")[2].split("\n")[0])
    return int(where.rpartition(":")[2])


def call(number: int, method: str, path: str, secret: str = "", host: str = "127.0.0.1") -> tuple[int, str]:
    """Call the TCP side, which may only be starting: its socket is there already."""
    with closing(http.client.HTTPConnection(host, number, timeout=30)) as client:
        shown = {"Authorization": f"Bearer {secret}"} if secret else {}
        body = b"{}" if method in ("POST", "PUT") else None
        client.request(method, path, body, shown | {"Content-Type": "application/json"})
        answer = client.getresponse()
        return answer.status, answer.read().decode()


def test_a_token_from_its_making_to_its_end(run_dir: Path) -> None:
    with serving(run_dir, "--port", "0"):
        number = port(run_dir)
        made = command("adocctl", "token", "create", "deploy", "--scope", "operate", "--for", "2h", run_dir=run_dir)
        operate = made.ok().strip()
        assert operate.startswith("adocd_")
        assert "deploy may read and operate, until 20" in made.err
        read = token(run_dir, "grafana")
        assert call(number, "GET", "/v1/targets")[0] == 200
        status, content = call(number, "POST", "/v1/pause")
        assert (status, "adocctl token create NAME --scope operate" in content) == (401, True)
        assert call(number, "POST", "/v1/pause", read)[0] == 403
        status, content = call(number, "POST", "/v1/pause", operate)
        assert (status, json.loads(content)["paused"]) == (200, "token deploy paused it")
        assert call(number, "GET", "/v1/tokens", operate)[0] == 403

        listed = json.loads(command("adocctl", "token", "list", "--json", run_dir=run_dir).ok())
        assert [(each["name"], each["scope"], each["expired"]) for each in listed] == [
            ("deploy", "operate", False), ("grafana", "read", False),
        ]  # fmt: skip
        assert listed[0]["expires_unix_s"] - listed[0]["made_unix_s"] == pytest.approx(7200)
        shown = command("adocctl", "token", "list", run_dir=run_dir).ok()
        assert "until it is revoked" in shown
        for secret in (read, operate):
            assert secret not in shown + log_of(run_dir) + (run_dir / "tokens.json").read_text()

        assert "deploy is revoked" in command("adocctl", "token", "revoke", "deploy", run_dir=run_dir).ok()
        assert call(number, "POST", "/v1/resume", operate)[0] == 401
        command("adocctl", "token", "revoke", "deploy", run_dir=run_dir).failed(4, "there is no token 'deploy'")
        command("adocctl", "token", "create", "grafana", run_dir=run_dir).failed(5, "revoke that one first")
        command("adocctl", "token", "create", "a b", run_dir=run_dir).failed(2, "name must be 1-64 letters")
    with serving(run_dir, "--port", "0"):
        assert call(port(run_dir), "GET", "/v1/targets", read)[0] == 200, "it survives a restart"


def test_another_address_than_loopback_is_served_with_the_first_token(run_dir: Path) -> None:
    (run_dir / "a.toml").write_text('[web]\nlisten = "0.0.0.0:0"\n')
    made = command("adocctl", "token", "create", "grafana", run_dir=run_dir)
    secret = made.ok().strip()
    assert f"keeps its tokens in {run_dir}/tokens.json" in made.err
    with serving(run_dir, "--config", str(run_dir / "a.toml")):
        number = port(run_dir)
        assert call(number, "GET", "/healthz") == (200, '{"status":"ok"}')
        assert call(number, "GET", "/v1/targets")[0] == 401
        assert call(number, "GET", "/metrics")[0] == 401
        assert call(number, "GET", "/v1/targets", secret)[0] == 200
        assert "adocd_targets 0" in call(number, "GET", "/metrics", secret)[1]
    (run_dir / "tokens.json").chmod(0o666)
    with serving(run_dir, "--listen", "0.0.0.0:0"):
        said = said_of_tcp(run_dir)
        assert "on http://" not in log_of(run_dir)
        assert "0.0.0.0:0 is not served, while databases are controlled" in said
        assert "close it by chmod 600" in said


def said_of_tcp(run_dir: Path) -> str:
    """Wait until the daemon says why it serves no TCP; what `adocctl targets` says then."""
    eventually(lambda: "is not served" in log_of(run_dir), what="it says so")
    return command("adocctl", "targets", run_dir=run_dir).ok()


def test_the_last_tokens_end_keeps_no_database_from_being_controlled(run_dir: Path) -> None:
    """A machine comes back from a reboot when nobody is there: TCP waits for a token, control does not."""
    token(run_dir, "old", "--for", "1s")
    file = run_dir / "tokens.json"
    eventually(lambda: time.time() > json.loads(file.read_text())["tokens"][0]["expires_unix_s"])
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]), serving(run_dir, "--listen", "0.0.0.0:0"):
        said = said_of_tcp(run_dir)
        assert "every one has expired; make one by `adocctl token create NAME`" in said
        eventually(lambda: "attached" in command("adocctl", "targets", run_dir=run_dir).ok(), what="it controls")
        secret = token(run_dir, "new")
        assert call(port(run_dir), "GET", "/v1/targets", secret)[0] == 200
        assert "is not served" not in command("adocctl", "targets", run_dir=run_dir).ok()
        assert json.loads(call(port(run_dir), "GET", "/v1/targets", secret)[1])["web_problem"] is None
    empty = {"version": 1, "tokens": []}
    file.write_text(json.dumps(empty))
    with serving(run_dir, "--listen", "0.0.0.0:0"):
        assert "and there is none; make one" in said_of_tcp(run_dir)


def test_an_address_that_comes_later(run_dir: Path) -> None:
    """Its port is somebody else's, or its network is not up, when the daemon starts."""
    secret = token(run_dir, "grafana")
    with socket.create_server(("0.0.0.0", 0)) as other:  # noqa: S104 - as the daemon is to
        number = other.getsockname()[1]
        with serving(run_dir, "--listen", f"0.0.0.0:{number}"):
            assert f"port {number} cannot be had on 0.0.0.0" in said_of_tcp(run_dir)
            other.close()
            eventually(lambda: "on http://" in log_of(run_dir), what="it is tried again")
            assert call(number, "GET", "/v1/targets", secret)[0] == 200


def test_a_daemon_that_answers_late_may_still_do_it() -> None:
    def late() -> None:
        raise NotInTime("the daemon does not answer in time")

    with pytest.raises(NotInTime):
        token_command._done(late, lambda _: pytest.fail("the file was changed"), may_be_twice=False)


def test_a_token_is_revoked_beside_a_daemon_that_hangs(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that has leaked must not wait for it; and a second token of that name nobody would know."""
    command("adocctl", "token", "create", "a", run_dir=run_dir).ok()
    monkeypatch.setenv("ADOCD_RUN_DIR", str(run_dir))

    def late(*_: object) -> None:
        raise NotInTime("the daemon does not answer in time")

    monkeypatch.setattr(RestClient, "delete", late)
    monkeypatch.setattr(RestClient, "post", late)
    token_command.revoke("a")
    assert "There is no token." in command("adocctl", "token", "list", run_dir=run_dir).ok()
    with pytest.raises(Failure, match="does not answer in time; see adocctl token list, and revoke a") as refused:
        token_command.create("a")
    assert refused.value.code == Exit.NO_DAEMON
    with pytest.raises(NotInTime):
        token_command.revoke("a")  # the daemon may keep its tokens elsewhere, so nobody knows that there is none


def test_beside_a_daemon_that_may_not_be_asked_no_token_is_made(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That daemon would not know it."""

    def refused(*_: object) -> None:
        raise MayNotAsk("daemon.sock may not be used")

    monkeypatch.setenv("ADOCD_RUN_DIR", str(run_dir))
    monkeypatch.setattr(RestClient, "post", refused)
    with pytest.raises(MayNotAsk):
        token_command.create("a")
    assert not (run_dir / "tokens.json").exists()


def test_without_a_daemon(run_dir: Path) -> None:
    assert "There is no token." in command("adocctl", "token", "list", run_dir=run_dir).ok()
    made = json.loads(command("adocctl", "token", "create", "a", "--for", "1s", "--json", run_dir=run_dir).ok())
    assert set(made) == {"name", "scope", "made_by", "made_unix_s", "expires_unix_s", "expired", "secret"}

    def listed() -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(command("adocctl", "token", "list", "--json", run_dir=run_dir).ok())
        return found

    eventually(lambda: listed()[0]["expired"], what="it expires")
    assert json.loads(command("adocctl", "token", "revoke", "a", "--json", run_dir=run_dir).ok()) == {"revoked": "a"}
    assert listed() == []
    why = f"no daemon answers, and there is no token 'a' in {run_dir}/tokens.json"
    command("adocctl", "token", "revoke", "a", run_dir=run_dir).failed(4, why)
    command("adocctl", "token", "create", "a b", run_dir=run_dir).failed(2, "a token's name must be")
    command("adocctl", "token", "create", "a", "--for", "5", run_dir=run_dir).failed(2, "--for must be a time")
    (run_dir / "tokens.json").write_text("{")
    command("adocctl", "token", "create", "a", run_dir=run_dir).failed(3, "no daemon answers", "are damaged")


def test_without_a_daemon_a_token_lasts_no_longer_than_with_one(run_dir: Path) -> None:
    """No calendar has the end of 9999999 days: it was made, and from then on no list could be shown."""
    words = ("--for must be at most 3660 d, not 9999999d; `ever` has no end",)
    command("adocctl", "token", "create", "a", "--for", "9999999d", run_dir=run_dir).failed(2, *words)
    listed = command("adocctl", "token", "list", run_dir=run_dir)
    assert "There is no token." in listed.ok()
    assert listed.err == f"no daemon answers; this is what {run_dir}/tokens.json has\n", "nothing is changed"
    command("adocctl", "token", "create", "a", "--for", "3660d", run_dir=run_dir).ok()
    with serving(run_dir):
        command("adocctl", "token", "create", "b", "--for", "3661d", run_dir=run_dir).failed(2, "at most 3660 d")
        command("adocctl", "token", "create", "b", "--for", "3660d", run_dir=run_dir).ok()


def test_a_token_whose_end_no_calendar_has_is_listed(run_dir: Path) -> None:
    command("adocctl", "token", "create", "a", "--for", "1h", run_dir=run_dir).ok()
    file = run_dir / "tokens.json"
    content = json.loads(file.read_text())
    content["tokens"][0]["expires_unix_s"] = 1e12
    file.write_text(json.dumps(content))
    assert "until 1000000000000" in command("adocctl", "token", "list", run_dir=run_dir).ok()


def test_only_one_place_to_listen(run_dir: Path) -> None:
    command("adocd", "serve", "--listen", "[::1]:0", "--port", "0", run_dir=run_dir).failed(2, "not both")
    command("adocd", "serve", "--listen", "example.org:80", run_dir=run_dir).failed(2, "names are not looked up")


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="this machine has no IPv6")
def test_loopback_of_ipv6(run_dir: Path) -> None:
    with serving(run_dir, "--listen", "[::1]:0"):
        assert "on http://[::1]:" in log_of(run_dir)
        number = port(run_dir)
        assert call(number, "GET", "/v1/targets", host="::1")[0] == 200
        with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.1", number)):
            pass
