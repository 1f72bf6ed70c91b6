"""Policies, overrides and pauses: what operators set outlives the daemon, until they say otherwise."""

import stat
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from adocd.daemon.book.journal.errors import PolicyNotUnderstood
from adocd.daemon.book.journal.journal import Journal
from adocd.daemon.book.journal.records import JournaledPolicy
from adocd.model.policy import Policy
from tests.daemon.book.journal.support import A, B, override, pause, policy, with_journal


def test_a_policy_stays_until_it_is_reset(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    wanted = Policy("adoc", MappingProxyType({"a": 1, "b": 0.5, "c": True, "d": "x"}), dry_run=True)

    async def set_some(journal: Journal) -> None:
        await journal.set_policy(policy(A, "none"))
        await journal.set_policy(JournaledPolicy.of(wanted, target=A, path="/db", who="ann", unix_s=5.0))
        await journal.set_policy(policy(None))

    async def reset_one(journal: Journal) -> None:
        by_target = {journaled.target: journaled for journaled in await journal.policies()}
        assert by_target.keys() == {A, None}
        assert (by_target[A].who, by_target[A].path, by_target[A].unix_s) == ("ann", "/db", 5.0)
        read = by_target[A].policy()
        assert (read.controller, dict(read.parameters), read.dry_run) == ("adoc", dict(wanted.parameters), True)
        assert [type(value) for value in read.parameters.values()] == [int, float, bool, str]
        assert await journal.reset_policy(A)
        assert not await journal.reset_policy(A)
        assert [journaled.target for journaled in await journal.policies()] == [None]
        assert await journal.reset_policy(None)

    with_journal(path, set_some)
    with_journal(path, reset_one)


def test_a_policy_of_another_version_is_named_and_harms_no_other(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        await journal.set_policy(replace(policy(A), content='{"law": "pid"}', path="/data/db"))
        await journal.set_policy(policy(B))
        strange, known = await journal.policies()
        assert known.policy().controller == "adoc"
        with pytest.raises(PolicyNotUnderstood, match="the journal's policy for /data/db, set by ann, is not one of"):
            strange.policy()

    with_journal(tmp_path / "journal", use)


def test_overrides_are_replaced_and_removed(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        await journal.add_override(override(A, expires_unix_s=10.0))
        await journal.add_override(replace(override(A, expires_unix_s=20.0), value="8"))
        await journal.add_override(replace(override(A, expires_unix_s=30.0), column_family="default"))
        await journal.add_override(override(None))
        assert [(o.target, o.column_family, o.value) for o in await journal.overrides()] == [
            (A, None, "8"),
            (A, "default", "4"),
            (None, None, "4"),
        ]
        assert await journal.remove_override(A, "max_background_jobs", "default")
        assert not await journal.remove_override(A, "max_background_jobs", "default")
        assert [(o.target, o.value) for o in await journal.overrides()] == [(A, "8"), (None, "4")]

    with_journal(tmp_path / "journal", use)


def test_pauses(tmp_path: Path) -> None:
    path = tmp_path / "journal"

    async def set_some(journal: Journal) -> None:
        await journal.keep_pauses([pause(A), pause(None)])

    async def resume(journal: Journal) -> None:
        assert [p.target for p in await journal.pauses()] == [A, None]
        await journal.keep_pauses([pause(A), pause(B)])
        assert await journal.pauses() == (pause(A), pause(B))

    with_journal(path, set_some)
    with_journal(path, resume)


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "adocd" / "journal"

    async def use(journal: Journal) -> None:
        await journal.keep_pauses([pause()])
        assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {
            "journal": 0o600,
            "journal-wal": 0o600,
            "journal.lock": 0o600,
        }

    with_journal(path, use)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(file.name for file in path.parent.iterdir()) == ["journal", "journal.lock"]
