"""What operators do by REST: overrides, pauses, policies and restores, of one target and of all."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import pytest

from adocd.model.knob import MIB
from tests.api.harness import Run, Service, with_service
from tests.daemon.harness import overflowing, until
from tests.support.fake_database import FakeDatabase

SLOWDOWN = "level0_slowdown_writes_trigger"
ADOC = {"controller": "adoc"}


def options(service: Service) -> dict[str, str]:
    return service.database.options.column_families["default"]


def journal(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite"


async def listed(service: Service, place: str | None = None) -> list[Any]:
    status, answer = await service.call("GET", f"{place or service.target}/overrides")
    assert status == 200
    overrides: list[Any] = answer["overrides"]
    return overrides


async def refused(service: Service, method: str, path: str, body: object, status: int) -> str:
    """Ask for what must be refused; the one sentence that says why."""
    got, problem = await service.call(method, path, body)
    assert (got, problem["status"]) == (status, status), problem
    detail: str = problem["detail"]
    assert "\n" not in detail
    return detail


# -- overrides


def test_a_pin_says_who_why_and_how_long_and_whether_it_is_in_force(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        asked = {"value": "30", "for_s": 600, "reason": "a bulk load"}
        status, pinned = await service.call("PUT", f"{service.target}/overrides/{SLOWDOWN}", asked)
        assert status == 200
        assert pinned["ineffective"] == f"not there yet: {SLOWDOWN} (default) is 20"
        await until(lambda: options(service)[SLOWDOWN] == "30", "it is pinned")
        await until(lambda: service.loop.status.sentence.startswith("fixed: "), "it was looked at again")
        (shown,) = await listed(service)
        assert shown.pop("remaining_s") == pytest.approx(600, abs=30)
        assert shown.pop("unix_s") == pinned["unix_s"]
        assert shown == {
            "target": service.agent.id_of(service.database),
            "option": SLOWDOWN,
            "column_family": None,
            "value": "30",
            "reason": "a bulk load",
            "who": getpass.getuser(),
            "ineffective": None,
        }
        assert await listed(service, "/v1") == [], "it is not for all"

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_pin_where_another_daemon_holds_the_database_names_that_one(tmp_path: Path) -> None:
    """Nothing of ours would be applied there, and the one that holds it would know of nothing."""
    database = FakeDatabase(tmp_path / "db")
    database.keeper.hold("adocd@elsewhere:1", 60, None)

    async def body(service: Service) -> None:
        place = f"{service.target}/overrides/{SLOWDOWN}"
        detail = await refused(service, "PUT", place, {"value": "30"}, 409)
        assert detail == f"{database.path} is held by adocd@elsewhere:1; pin it there, or stop that one first"
        assert await listed(service) == []
        status, _ = await service.call("PUT", f"/v1/overrides/{SLOWDOWN}", {"value": "30"})
        assert status == 200, "that is for all others, and for this one once it is free"
        (shown,) = await listed(service)
        assert shown["ineffective"] == f"{database.path} is held by adocd@elsewhere:1"
        assert options(service)[SLOWDOWN] == "20"

    with_service(tmp_path, database, body)


def test_a_removed_pin_leads_back(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        place = f"{service.target}/overrides/{SLOWDOWN}"
        await service.call("PUT", place, {"value": "30"})
        await until(lambda: options(service)[SLOWDOWN] == "30", "it is pinned")
        assert await service.call("DELETE", place) == (200, {"removed": True, "warning": None})
        await until(lambda: options(service)[SLOWDOWN] == "20", "it is back")
        assert "is not pinned on /" in await refused(service, "DELETE", place, None, 404)

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_pin_that_was_not_given_an_end_has_one_and_null_has_none(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        await service.call("PUT", f"{service.target}/overrides/{SLOWDOWN}", {"value": "30"})
        await service.call("PUT", f"{service.target}/overrides/max_background_jobs", {"value": "4", "for_s": None})
        remaining = {shown["option"]: shown["remaining_s"] for shown in await listed(service)}
        assert remaining == {SLOWDOWN: pytest.approx(3600, abs=30), "max_background_jobs": None}

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_an_expired_pin_goes_by_itself(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        await service.call("PUT", f"{service.target}/overrides/{SLOWDOWN}", {"value": "30", "for_s": 5})
        await until(lambda: options(service)[SLOWDOWN] == "30", "it is pinned")
        await until(lambda: options(service)[SLOWDOWN] == "20", "its time has come")
        assert await listed(service) == []

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_pin_for_all_targets_and_one_of_a_target_that_beats_it(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        status, pinned = await service.call("PUT", f"/v1/overrides/{SLOWDOWN}", {"value": "30"})
        assert (status, pinned["target"], pinned["ineffective"]) == (200, None, None)
        await until(lambda: options(service)[SLOWDOWN] == "30", "it is pinned")
        await service.call("PUT", f"{service.target}/overrides/{SLOWDOWN}", {"value": "25"})
        await until(lambda: options(service)[SLOWDOWN] == "25", "the target's own beats it")
        assert [shown["target"] for shown in await listed(service)] == [None, service.agent.id_of(service.database)]
        assert [shown["value"] for shown in await listed(service, "/v1")] == ["30"]
        await service.call("DELETE", f"{service.target}/overrides/{SLOWDOWN}")
        await until(lambda: options(service)[SLOWDOWN] == "30", "the one for all counts again")
        assert await service.call("DELETE", f"/v1/overrides/{SLOWDOWN}") == (200, {"removed": True, "warning": None})
        await until(lambda: options(service)[SLOWDOWN] == "20", "it is back")

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_pin_of_one_column_family_leaves_the_others_alone(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db", column_families=("default", "index"))

    async def body(service: Service) -> None:
        place = f"{service.target}/overrides/{SLOWDOWN}"
        status, pinned = await service.call("PUT", place, {"value": "30", "column_family": "index"})
        assert (status, pinned["column_family"]) == (200, "index")
        families = service.database.options.column_families
        await until(lambda: families["index"][SLOWDOWN] == "30", "it is pinned")
        assert families["default"][SLOWDOWN] == "20"
        assert "; it is pinned for index" in await refused(service, "DELETE", place, None, 404)
        assert await service.call("DELETE", f"{place}?column_family=index") == (200, {"removed": True, "warning": None})

    with_service(tmp_path, database, body)


@pytest.mark.parametrize(
    ("option", "asked", "status", "words"),
    [
        ("no_such_option", {"value": "1"}, 422, "adocd cannot pin 'no_such_option': it does not know its bounds"),
        (
            "compaction_style",
            {"value": "1"},
            422,
            "compaction_style (default) cannot be changed while the database is open",
        ),
        (SLOWDOWN, {"value": "30", "column_family": "no"}, 422, "there is no column family 'no' here; there "),
        (SLOWDOWN, {"value": "30", "column_family": "\ud800"}, 422, "column_family must be text, not '\\ud800'"),
        (SLOWDOWN, {"value": "30", "reason": "\udce9"}, 422, "reason must be text, not '\\udce9'"),
        ("max_background_jobs", {"value": "4", "column_family": "default"}, 422, "belongs to the whole database"),
        ("write_buffer_size", {"value": "64 M"}, 422, "write_buffer_size must be 64MB (64,000,000 bytes) or 64MiB"),
        ("write_buffer_size", {"value": "-1"}, 422, "bounds: "),
        ("write_buffer_size", {"value": "1024"}, 422, "must be 1 MiB to 4 GiB, not 1 KiB"),
        ("write_buffer_szie", {"value": "64MiB"}, 422, "did you mean write_buffer_size?"),
        ("write_buffer_size", {"value": str(1024 * MIB)}, 409, "memory budget: 1024 MiB x 2 for default would take"),
        (SLOWDOWN, {"value": "50"}, 409, "order: in column family default it must be that"),
        ("disable_auto_compactions", {"value": "1"}, 422, "is a switch: true or false, not '1'"),
        ("delayed_write_rate", {"value": "0"}, 422, "delayed_write_rate must be at least 1 MiB/s, not 0"),
        ("rate_limiter_bytes_per_s", {"value": "0"}, 422, "rate_limiter_bytes_per_s"),
        (SLOWDOWN, {"value": "30", "for_s": 0}, 422, "for_s must be more than 0 s, not 0"),
        (SLOWDOWN, {"value": "30", "for_s": 1e9}, 422, "for_s must be at most 366 d, not"),
        (SLOWDOWN, {"value": 30}, 422, "value must be text, not 30"),
        (SLOWDOWN, {"value": "3" * 65}, 422, "value must have at most 64 characters, not '333"),
        (SLOWDOWN, {"vaule": "30"}, 422, "value is missing; there is no member 'vaule'; did you mean value?"),
    ],
)
def test_what_cannot_be_pinned_is_refused_with_the_reason(
    left_alone: Run, option: str, asked: dict[str, object], status: int, words: str
) -> None:
    async def body(service: Service) -> None:
        before = dict(options(service))
        assert words in await refused(service, "PUT", f"{service.target}/overrides/{option}", asked, status)
        assert await listed(service) == []
        assert options(service) == before

    left_alone(body)


def test_half_a_character_is_not_pinned_for_all(tmp_path: Path) -> None:
    """No answer in UTF-8 could have it, the list of pins and the metrics included."""

    async def body(service: Service) -> None:
        asked = {"value": "30", "column_family": "caf\udce9"}
        await refused(service, "PUT", f"/v1/overrides/{SLOWDOWN}", asked, 422)
        assert await listed(service, "/v1") == []

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_pin_for_all_holds_where_no_guard_refuses_it_and_says_where_one_does(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        assert (await service.call("PUT", f"/v1/overrides/{SLOWDOWN}", {"value": "50"}))[0] == 200
        assert "order: " in (await listed(service))[0]["ineffective"]
        assert options(service)[SLOWDOWN] == "20"
        assert (await service.call("DELETE", f"/v1/overrides/{SLOWDOWN}"))[0] == 200
        assert "cannot pin 'x'" in await refused(service, "PUT", "/v1/overrides/x", {"value": "50"}, 422)
        for option, value in ((SLOWDOWN, "abc"), ("thread_pool_nonsense", "4"), ("num_levels", "4")):
            await refused(service, "PUT", f"/v1/overrides/{option}", {"value": value}, 422)
        assert await listed(service, "/v1") == []

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_dry_run_takes_no_pin_and_leaves_those_that_are_there_without_effect(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        place = f"{service.target}/overrides/{SLOWDOWN}"
        await service.call("PUT", place, {"value": "30"})
        await until(lambda: options(service)[SLOWDOWN] == "30", "it is pinned")
        await service.call("PUT", f"{service.target}/policy", {"controller": "adoc", "dry_run": True})
        await until(lambda: options(service)[SLOWDOWN] == "20", "a dry run changes nothing")
        assert (await listed(service))[0]["ineffective"] == "the policy is a dry run"
        assert "is a dry run, so nothing is applied" in await refused(service, "PUT", place, {"value": "25"}, 409)

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_the_pins_of_a_database_that_is_closed_for_long_are_listed_and_removed(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        place = f"{service.target}/overrides/{SLOWDOWN}"
        await service.call("PUT", place, {"value": "30", "for_s": None})
        id_ = service.loop.id
        service.agent.close()
        await until(lambda: service.loop.state == "closed", "it is closed")
        service.fleet.drop_closed(id_)
        (shown,) = await listed(service)
        assert (shown["target"], shown["ineffective"]) == (id_, "the database is closed")
        assert await listed(service, f"/v1/targets/{id_[:6]}") == [shown]
        other = await refused(service, "DELETE", f"{service.target}/overrides/max_background_jobs", None, 404)
        assert other == f"max_background_jobs is not pinned on {service.database.path}; pinned is {SLOWDOWN}"
        assert await service.call("DELETE", place) == (200, {"removed": True, "warning": None})
        _, known = await service.call("GET", "/v1/targets")
        assert sum(kept["overrides"] for kept in known["kept"]) == 0
        _, audit = await service.call("GET", f"/v1/operations?target={id_}")
        last = audit["operations"][-1]
        assert (last["what"], last["sentence"]) == ("unpin", f"{getpass.getuser()} removed the pin of {SLOWDOWN}")
        await refused(service, "PUT", place, {"value": "30"}, 404)

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


# -- pauses


def test_a_pause_keeps_what_is_set_and_resume_lets_the_law_go_on(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        await service.call("PUT", f"{service.target}/policy", ADOC)
        await until(lambda: options(service)["write_buffer_size"] == str(128 * MIB), "it is tuned")
        words = f"{getpass.getuser()} paused it: looking"
        answer = await service.call("POST", f"{service.target}/pause", {"reason": "looking"})
        assert answer == (200, {"paused": words, "was_paused": False, "warning": None})
        count = service.loop.remembered.decisions.count
        await until(lambda: service.loop.status.sentence == f"paused: {words}", "it is paused")
        assert options(service)["write_buffer_size"] == str(128 * MIB)
        assert service.loop.remembered.decisions.count == count
        _, detail = await service.call("GET", service.target)
        assert detail["paused"] == words
        assert await service.call("POST", f"{service.target}/resume") == (
            200,
            {"paused": None, "was_paused": True, "warning": None},
        )
        await until(lambda: service.loop.remembered.decisions.count > count, "it decides again")
        assert await service.call("POST", f"{service.target}/resume") == (
            200,
            {"paused": None, "was_paused": False, "warning": None},
        )

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_a_pin_acts_during_a_pause(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        await service.call("POST", f"{service.target}/pause", {})
        await service.call("PUT", f"{service.target}/overrides/{SLOWDOWN}", {"value": "30"})
        await until(lambda: options(service)[SLOWDOWN] == "30", "the operator's pin acts")

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_pause_says_whether_there_was_one_and_what_is_in_force(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        async def paused(place: str, reason: str) -> tuple[str, bool]:
            status, answer = await service.call("POST", f"{place}/pause", {"reason": reason})
            assert status == 200
            return answer["paused"].partition(" ")[2], answer["was_paused"]

        assert await paused("/v1", "one") == ("paused it: one", False)
        assert await paused("/v1", "two") == ("paused it: two", True)
        assert await paused(service.target, "three") == ("paused it: three", True)
        kept = "restored the originals; resume or set a policy to go on"
        await service.call("POST", f"{service.target}/restore")
        assert await paused(service.target, "four") == (kept, True), "a pause takes nothing of a restore back"
        await service.call("POST", "/v1/restore")
        assert await paused("/v1", "five") == (kept, True)

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_pause_of_all_exempts_whom_an_operator_lets_go_on(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        status, answer = await service.call("POST", "/v1/pause", {"reason": "an incident"})
        assert (status, answer["paused"]) == (200, f"{getpass.getuser()} paused it: an incident")
        await service.call("PUT", f"{service.target}/policy", {"controller": "adoc", "dry_run": True})
        _, detail = await service.call("GET", service.target)
        assert detail["paused"] is None, "setting a policy ends the pause there"
        await service.call("POST", "/v1/pause", {})
        _, detail = await service.call("GET", service.target)
        assert detail["paused"] == f"{getpass.getuser()} paused it", "a pause of all is of all, once more"
        assert (await service.call("POST", f"{service.target}/resume"))[1] == {
            "paused": None,
            "was_paused": True,
            "warning": None,
        }
        assert service.loop.status.paused is None
        assert await service.call("POST", "/v1/resume") == (200, {"paused": None, "was_paused": True, "warning": None})
        assert await service.call("POST", "/v1/resume") == (200, {"paused": None, "was_paused": False, "warning": None})

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


# -- policies and restores


def test_resetting_a_policy_leaves_it_to_the_daemon_again(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        await service.call("PUT", f"{service.target}/policy", ADOC)
        await until(lambda: options(service)["write_buffer_size"] == str(128 * MIB), "it is tuned")
        status, policy = await service.call("DELETE", f"{service.target}/policy")
        assert (status, policy["controller"]) == (200, "fixed")
        await until(lambda: options(service)["write_buffer_size"] == str(64 * MIB), "the originals are back")

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_a_restore_holds_until_it_is_resumed_pins_included(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        await service.call("PUT", f"{service.target}/policy", ADOC)
        await service.call("PUT", f"{service.target}/overrides/{SLOWDOWN}", {"value": "30"})
        await until(lambda: options(service)["write_buffer_size"] == str(128 * MIB), "it is tuned")
        await until(lambda: options(service)[SLOWDOWN] == "30", "it is pinned")
        status, answer = await service.call("POST", f"{service.target}/restore")
        assert (status, answer["failed"]) == (200, {})
        await until(lambda: options(service)["write_buffer_size"] == str(64 * MIB), "the originals are back")
        await until(lambda: options(service)[SLOWDOWN] == "20", "that of the pinned option, too")
        (shown,) = await listed(service)
        assert "restored the originals; resume" in shown["ineffective"]
        await until(lambda: service.loop.status.sentence.startswith("paused: "), "it is left alone")
        await service.call("POST", f"{service.target}/resume")
        await until(lambda: options(service)["write_buffer_size"] == str(128 * MIB), "it goes on")
        await until(lambda: options(service)[SLOWDOWN] == "30", "so does the pin")

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


# -- the journal


def test_what_would_not_outlive_the_daemon_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        place = f"{service.target}/overrides/{SLOWDOWN}"
        await service.call("PUT", place, {"value": "30"})
        away = journal(tmp_path).rename(tmp_path / "away")
        journal(tmp_path).mkdir()  # or it would be written anew
        sentence = await refused(service, "PUT", place, {"value": "25"}, 409)
        assert sentence.startswith("nothing is pinned: the journal ")
        assert [shown["value"] for shown in await listed(service)] == ["30"], "the pin from before"
        sentence = await refused(service, "PUT", f"{service.target}/policy", ADOC, 409)
        assert sentence.startswith("the policy would be lost in a restart of the daemon: the journal ")
        await refused(service, "DELETE", f"{service.target}/policy", None, 409)
        _, policy = await service.call("GET", f"{service.target}/policy")
        assert policy["controller"] == "fixed"
        assert (await service.call("POST", f"{service.target}/pause", {}))[0] == 200, "stopping always works"

        journal(tmp_path).rmdir()
        away.rename(journal(tmp_path))
        answer = await service.call("PUT", place, {"value": "25"})
        assert answer[0] == 200, answer
        await until(lambda: options(service)[SLOWDOWN] == "25", "there is room again")

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_operators_see_how_the_journal_is(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        good = {"path": str(journal(tmp_path)), "problem": None, "rescued": None, "lost_decisions": 0}
        for place in ("/healthz", "/v1/targets"):
            assert (await service.call("GET", place))[1]["journal"] == good
        _, shown = await service.tcp("GET", "/metrics")
        assert "adocd_journal_writable 1.0" in shown
        assert "adocd_journal_lost_decisions_total 0.0" in shown

        journal(tmp_path).rename(tmp_path / "away")
        journal(tmp_path).mkdir()
        await service.call("PUT", f"{service.target}/policy", ADOC)
        _, health = await service.call("GET", "/healthz")
        assert health["status"] == "ok", "it restores, so it is alive"
        assert "was replaced by somebody else" in health["journal"]["problem"]
        _, shown = await service.tcp("GET", "/metrics")
        assert "adocd_journal_writable 0.0" in shown

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)
