"""Reading the configuration again: what is taken, what is not, and why."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from adocd.daemon.book.began import began_unix_s
from adocd.daemon.fleet import config as configuration
from adocd.daemon.fleet.reload import LIVE, Reload
from adocd.daemon.watch import samples
from adocd.model.policy import Policy, Priority
from tests.api.harness import Service, with_service
from tests.daemon.harness import overflowing, session_of, until


def write(file: Path, content: str | None) -> None:
    """Make the file what it is to be; None removes it."""
    file.unlink() if content is None else file.write_text(content)


def reloading(tmp_path: Path, begins: str, body: Callable[[Service, Reload, Path], Awaitable[None]]) -> None:
    """Run the body on a daemon that began with this configuration and no --policy."""
    file = tmp_path / "adocd.toml"
    file.write_text(begins)

    async def run(service: Service) -> None:
        service.fleet._policy = None
        service.fleet._config = configuration.load(file)
        await body(service, Reload(service.fleet, service.fleet._book, file, had_file=True), file)

    with_service(tmp_path, overflowing(tmp_path / "db"), run)


def test_times_and_limits_are_taken_at_once(tmp_path: Path) -> None:
    async def body(service: Service, reload: Reload, file: Path) -> None:
        write(
            file,
            "[daemon]\ntick_s = 0.05\nlease_ttl_s = 4.0\nmemory_budget_bytes = 1073741824\nhistory_s = 10.0\n"
            "arbiter = true\n"
            "[safety]\ncompaction_off_s = 5.0\ncompaction_off_l0_files = 7\ncompaction_off_pending_bytes = 8\n",
        )
        done = await reload.again()
        assert done.not_taken == ()
        assert {words.split()[0] for words in done.taken} == set(LIVE), "all that is said to be taken"
        assert "daemon.tick_s 1.0 -> 0.05" in str(done)
        loop, fleet = service.loop, service.fleet
        assert (loop.status.tick_s, fleet.settings.lease_ttl_s, loop.remembered.samples.most) == (0.05, 4.0, 200)
        assert fleet.memory_of(loop.id)[0] == 1 << 30
        assert fleet.settings.neighbours.sharing.is_on
        assert session_of(loop).steering._compaction.limits.l0_files == 7
        looks = loop.status.looks
        await until(lambda: loop.status.looks > looks + 3, "it ticks on")
        assert (await reload.again()).taken == ()

    reloading(tmp_path, "", body)


def test_shares_are_taken_at_once(tmp_path: Path) -> None:
    async def body(service: Service, reload: Reload, file: Path) -> None:
        assert service.fleet.settings.priority_of(service.loop.path) == Priority()
        write(file, "[[shares]]\npath = '*'\nweight = 3\nfloor = 0.5\n")
        assert (await reload.again()).taken == ("shares",)
        assert service.fleet.settings.priority_of(service.loop.path) == Priority(3.0, 0.5)

    reloading(tmp_path, "", body)


def test_the_rest_is_said_to_need_a_restart_each_time(tmp_path: Path) -> None:
    async def body(service: Service, reload: Reload, file: Path) -> None:
        write(file, "[daemon]\nlog_format = 'json'\ndirectories = ['/srv/db']\ntick_s = 0.5\n")
        for _ in range(2):
            done = await reload.again()
            assert set(done.not_taken) == {
                "daemon.directories [] -> [/srv/db]: it needs a restart",
                "daemon.log_format text -> json: it needs a restart",
            }
        assert service.fleet.config.daemon.tick_s == 0.5
        assert service.fleet.config.daemon.log_format == "text", "what is in force"

    reloading(tmp_path, "", body)


def test_a_broken_file_and_one_that_is_gone_change_nothing(tmp_path: Path) -> None:
    async def body(service: Service, reload: Reload, file: Path) -> None:
        before, taken_unix_s = service.fleet.config, service.fleet.settings.vitals.configured_unix_s
        for content, words in (("[daemon]\ntick_s = 0", "daemon.tick_s"), ("no", "not TOML"), (None, "cannot be read")):
            write(file, content)
            done = await reload.again()
            assert str(done).startswith("the configuration stays as it was: ")
            assert words in str(done)
            assert "\n" not in str(done)
            assert service.fleet.config == before
            assert not service.fleet.settings.vitals.is_configured
            assert service.fleet.settings.vitals.configured_unix_s == taken_unix_s
        os.mkfifo(file)
        assert "is no regular file" in str(await reload.again()), "it would be waited for, by every later reload too"
        write(file, None)
        write(file, "")
        assert str(await reload.again()) == "the configuration was read again, and nothing in it has changed"
        assert service.fleet.settings.vitals.is_configured

    reloading(tmp_path, "", body)


def test_without_a_file_there_is_none_to_read(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        file = tmp_path / "adocd.toml"
        reload = Reload(service.fleet, service.fleet._book, file, had_file=False)
        assert "as there was none at the start" in str(await reload.again())
        assert service.fleet.settings.vitals.is_configured, "nothing is broken"
        write(file, "[daemon]\ntick_s = 0.5\n")
        assert "daemon.tick_s 1.0 -> 0.5" in str(await reload.again())
        write(file, None)
        assert "cannot be read" in str(await reload.again()), "its policies are not dropped because it has gone"

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_policies_change_where_the_configuration_chooses(tmp_path: Path) -> None:
    async def body(service: Service, reload: Reload, file: Path) -> None:
        loop = service.loop
        write(file, "[policy]\ncontroller = 'adoc'\ndry_run = true\n")
        done = await reload.again()
        assert f"{loop.path} has adoc, which was fixed" in str(done)
        assert loop.status.policy.controller == "adoc"
        assert loop.status.policy.dry_run
        assert began_unix_s(reversed(service.fleet._book.operations), loop.id) is not None, "for the verdict"
        loop._fall_back("adoc failed")
        write(file, "[policy]\ncontroller = 'adoc'\ndry_run = true\n[daemon]\ntick_s = 0.5\n")
        await reload.again()
        assert loop.status.policy.controller == "fixed", "nobody has said anything new of a law that has failed"
        write(file, f"[[targets]]\npath = '{loop.path}'\ncontroller = 'adoc-released'\ndry_run = true\n")
        await reload.again()
        assert loop.status.policy.controller == "adoc-released"
        assert loop.status.fell_back is None

    reloading(tmp_path, "", body)


def test_what_beats_the_configuration_goes_on_beating_it(tmp_path: Path) -> None:
    async def body(service: Service, reload: Reload, file: Path) -> None:
        loop = service.loop
        status, _ = await service.call("PUT", f"{service.target}/policy", {"controller": "adoc", "dry_run": True})
        assert status == 200
        write(file, "[policy]\ncontroller = 'adoc-released'\n")
        done = await reload.again()
        assert any(f"{loop.path} keeps the policy that an operator has set" in words for words in done.not_taken)
        assert loop.status.policy.controller == "adoc"
        service.fleet._policy = Policy("fixed")
        write(file, "[policy]\ncontroller = 'adoc'\n")
        assert "--policy of adocd serve beats them" in str(await reload.again())

    reloading(tmp_path, "", body)


def test_a_reload_does_not_unpack_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For hundreds of databases that would take longer than their leases last."""

    async def body(service: Service, reload: Reload, file: Path) -> None:
        kept = service.loop.remembered.samples
        await until(lambda: len(kept) >= 3, "there are samples")
        monkeypatch.setattr(samples, "_unpacked", None)
        for history_s in (20.0, 30.0):
            write(file, f"[daemon]\nhistory_s = {history_s}\n")
            before = len(kept)
            assert (await reload.again()).failed is None
            assert len(service.loop.remembered.samples) >= before

    reloading(tmp_path, "[daemon]\nhistory_s = 20.0\n", body)
