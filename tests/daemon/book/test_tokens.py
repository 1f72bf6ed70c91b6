"""Tokens: kept as hashes, by their owner alone, whole or not at all."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from adocd.daemon.book import tokens
from adocd.daemon.book.tokens import BadName, NameTaken, TokenError, TokenStore
from tests.support.users import ALICE, ROOT


class Clock:
    """A wall clock that the test sets."""

    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def __call__(self) -> float:
        """Read it."""
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    """Make one."""
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> TokenStore:
    """Make an empty one, whose directory is not there yet."""
    return TokenStore(tmp_path / "state" / "tokens.json", clock)


def test_a_secret_is_found_and_kept_nowhere(store: TokenStore) -> None:
    assert store.tokens() == ()
    secret, made = store.make("grafana", "read", None, "alice")
    other, _ = store.make("deploy", "operate", 60.0, "root")
    assert secret.startswith("adocd_")
    assert len(secret) >= 43, "256 bits"
    assert secret != other
    assert tokens.matching(store.tokens(), secret) == made
    assert tokens.matching(store.tokens(), secret[:-1]) is None
    assert tokens.matching(store.tokens(), made.sha256) is None, "the hash itself lets nobody in"
    content = store.path.read_text()
    assert secret not in content
    assert secret.removeprefix("adocd_") not in content


def test_it_survives_a_restart_for_its_owner_alone(store: TokenStore, clock: Clock) -> None:
    store.make("grafana", "read", None, "alice")
    assert TokenStore(store.path, clock).tokens() == store.tokens()
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(store.path.parent) == ["tokens.json"]


def test_it_expires_by_the_wall_clock_and_makes_room(store: TokenStore, clock: Clock) -> None:
    store.make("deploy", "operate", 60.0, "alice")
    (token,) = store.usable()
    clock.now_s += 59
    assert not store.is_expired(token)
    with pytest.raises(NameTaken, match="there is a token deploy already"):
        store.make("deploy", "read", None, "bob")
    clock.now_s += 1
    assert store.is_expired(token)
    assert store.usable() == ()
    assert store.tokens() == (token,), "listed until it is revoked or replaced"
    _, again = store.make("deploy", "read", None, "bob")
    assert store.tokens() == (again,)


def test_revoked_is_gone(store: TokenStore) -> None:
    assert not store.revoke("deploy")
    store.make("deploy", "operate", None, "alice")
    _, kept = store.make("grafana", "read", None, "alice")
    assert store.revoke("deploy")
    assert store.tokens() == (kept,)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "-a", "a\n", "é", "a" * 65, "token a"])
def test_a_name_is_a_word(store: TokenStore, name: str) -> None:
    """It stands in the audit trail as `token NAME`, and in a header."""
    with pytest.raises(BadName, match="such as grafana"):
        store.make(name, "read", None, "alice")


def test_there_is_an_end_to_it(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_TOKENS", 2)
    for name in ("a", "b"):
        store.make(name, "read", None, "alice")
    with pytest.raises(TokenError, match="revoke one first"):
        store.make("c", "read", None, "alice")


def _damage(content: dict[str, object]) -> str:
    return json.dumps({"version": 1, "tokens": [content]})


GOOD = {
    "name": "a", "scope": "read", "sha256": "0" * 64, "made_unix_s": 1, "made_by": "x", "expires_unix_s": None,
}  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "null", '{"version": 2, "tokens": []}', '{"version": 1, "tokens": [1]}', '{"version": 1}',
        _damage(GOOD | {"scope": "everything"}), _damage(GOOD | {"sha256": "0"}), _damage(GOOD | {"sha256": "é" * 64}),
        _damage(GOOD | {"name": 1}),
        _damage(GOOD | {"made_unix_s": "now"}), _damage(GOOD | {"expires_unix_s": "never"}),
        _damage(GOOD | {"more": 1}), "[" * 100_000,
    ],
)  # fmt: skip
def test_a_damaged_file_lets_nobody_in_and_is_not_overwritten(store: TokenStore, content: str) -> None:
    store.path.parent.mkdir()
    store.path.write_text(content)
    store.path.chmod(0o600)
    attempts: list[Callable[[], object]] = [
        store.tokens, store.usable, lambda: store.make("b", "read", None, "x"), lambda: store.revoke("a"),
    ]  # fmt: skip
    for attempt in attempts:
        with pytest.raises(TokenError, match="are damaged; move that file away"):
            attempt()
    assert store.path.read_text() == content


def test_a_file_that_others_may_use_counts_for_nothing(store: TokenStore) -> None:
    store.make("a", "operate", None, "alice")
    for mode in (0o640, 0o602, 0o644):
        store.path.chmod(mode)
        with pytest.raises(TokenError, match="close it by chmod 600"):
            store.tokens()


def test_no_link_and_no_pipe_is_read(store: TokenStore, tmp_path: Path) -> None:
    store.make("a", "operate", None, "alice")
    elsewhere = tmp_path / "elsewhere"
    store.path.rename(elsewhere)
    store.path.symlink_to(elsewhere)
    with pytest.raises(TokenError, match="cannot be read"):
        store.tokens()
    store.path.unlink()
    os.mkfifo(store.path, 0o600)
    with pytest.raises(TokenError, match="is no file"):
        store.tokens()


@pytest.mark.skipif(not ROOT, reason="needs root to give files away")
def test_whose_file_it_may_be(store: TokenStore) -> None:
    store.make("a", "operate", None, "root")
    os.chown(store.path, ALICE, ALICE)
    with pytest.raises(TokenError, match=f"belong to uid {ALICE}"):
        store.tokens()
    os.chown(store.path.parent, ALICE, ALICE)
    assert len(store.tokens()) == 1, "the daemon's user, whose directory it is"
    store.make("b", "read", None, "root")
    assert store.path.stat().st_uid == ALICE, "root's terminal leaves it to the daemon's user"


def test_a_disk_that_is_full_costs_no_token(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.make("a", "operate", None, "alice")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TokenError, match="cannot be written: No space left on device"):
        store.make("b", "read", None, "alice")
    monkeypatch.undo()
    assert [token.name for token in store.tokens()] == ["a"]
    store.make("b", "read", None, "alice")
    assert [token.name for token in store.tokens()] == ["a", "b"]


def test_two_at_once_lose_nothing(store: TokenStore) -> None:
    """The daemon and a terminal."""

    def make(who: str) -> None:
        for number in range(10):
            TokenStore(store.path).make(f"{who}{number}", "read", None, who)

    threads = [threading.Thread(target=make, args=(who,)) for who in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.tokens()) == 30
