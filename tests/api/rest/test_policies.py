"""Policies of several databases in one request, meant by patterns of their paths and labels."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.harness import Service, with_service
from tests.daemon.harness import until
from tests.support.fake_database import FakeDatabase

ADOC = {"controller": "adoc", "parameters": {"threads_max": 8}}
#: What the Kafka Streams application orders has; only the first has a rate limiter.
STORES = ("0_0/rocksdb/balances", "0_1/rocksdb/balances", "0_0/per-hour/per-hour.1800000600000", "global/rocksdb/rates")


def asking(*conditions: str) -> str:
    return "/v1/policy?" + "&".join(f"where={quote(condition, safe='')}" for condition in conditions)


def with_stores(tmp_path: Path, body: Callable[[Service, dict[str, str]], Awaitable[None]]) -> None:
    """Run the body against a daemon with the stores, whose ids it gets by path, and with another program's database."""

    async def inner(service: Service) -> None:
        ids = {}
        for number, store in enumerate(STORES):
            limit = 100_000_000 if number == 0 else None
            database = FakeDatabase(tmp_path / "state" / "orders" / store, rate_limiter_bytes_per_s=limit)
            ids[store] = service.agent.id_of(service.agent.add(database))
        loops = service.fleet.loops
        await until(lambda: len(loops) > len(STORES) and all(loop.status.sample for loop in loops.values()), "all seen")
        await body(service, ids)

    with_service(tmp_path, FakeDatabase(tmp_path / "mydb"), inner)


def laws(service: Service) -> dict[str, str]:
    """Tell the law of each database by what its path ends with."""
    return {loop.path.partition("/orders/")[2] or "mydb": loop.status.policy.controller
            for loop in service.fleet.loops.values()}  # fmt: skip


def test_the_list_has_labels(tmp_path: Path) -> None:
    async def body(service: Service, ids: dict[str, str]) -> None:
        _, listed = await service.call("GET", "/v1/targets")
        found = {target["id"]: target["labels"] for target in listed["targets"]}
        assert found[ids[STORES[0]]] == {"application": "orders", "task": "0_0", "store": "balances"}
        assert found[ids[STORES[2]]]["segment"] == "1800000600000"
        assert found[service.agent.id_of(service.database)] == {}
        _, one = await service.call("GET", f"/v1/targets/{ids[STORES[3]]}")
        assert one["labels"]["task"] == "global"
        _, vitals = await service.call("GET", "/v1/vitals")
        assert {target["id"]: target["labels"] for target in vitals["targets"]} == found
        _, metrics = await service.tcp("GET", "/metrics")
        series = [line for line in metrics.splitlines() if line.startswith("adocd_target_labels{")]
        assert len(series) == len(STORES), "none for the other program's database"
        (window,) = (line for line in series if ids[STORES[2]] in line)
        for label in ('label_application="orders"', 'label_segment="1800000600000"', 'label_operator=""'):
            assert label in window

    with_stores(tmp_path, body)


def test_all_that_match_get_it_and_no_other(tmp_path: Path) -> None:
    async def body(service: Service, ids: dict[str, str]) -> None:
        status, answer = await service.call("PUT", asking("application=orders", "task=0_?"), ADOC)
        assert status == 200, answer
        assert set(answer["done"]) == {ids[store] for store in STORES[:3]}
        assert answer["done"][ids[STORES[0]]].endswith(f"/orders/{STORES[0]}")
        assert (answer["policy"]["parameters"], answer["failed"], answer["closed"]) == ({"threads_max": 8}, {}, {})
        assert laws(service) == {**dict.fromkeys(STORES[:3], "adoc"), STORES[3]: "fixed", "mydb": "fixed"}

        book = service.fleet.audit._book
        assert {target for target in ids.values() if book.policy_of(target) is not None} == set(answer["done"])
        notes = [each for each in book.operations if each.what == "set-policy"]
        assert {each.target for each in notes} == set(answer["done"])
        assert all("set the policy to adoc with threads_max 8" in each.sentence for each in notes)

        status, answer = await service.call("DELETE", asking("store=balances", "path=*/0_1/*"))
        assert (status, set(answer["done"]), answer["policy"]) == (200, {ids[STORES[1]]}, None)
        assert laws(service)[STORES[1]] == "fixed"
        assert book.policy_of(ids[STORES[1]]) is None
        assert laws(service)[STORES[0]] == "adoc"

    with_stores(tmp_path, body)


def test_it_ends_their_pauses_as_for_one(tmp_path: Path) -> None:
    async def body(service: Service, ids: dict[str, str]) -> None:
        for target in (ids[STORES[0]], service.agent.id_of(service.database)):
            await service.call("POST", f"/v1/targets/{target}/pause", {})
        await service.call("PUT", asking("application=*"), ADOC)
        assert service.fleet.loops[ids[STORES[0]]].status.paused is None
        assert service.fleet.loops[service.agent.id_of(service.database)].status.paused is not None

    with_stores(tmp_path, body)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_the_audit_trail_has_it_before_a_database_keeps_it_waiting(tmp_path: Path, method: str) -> None:
    """Or a daemon that is killed meanwhile has set the policy, and nobody knows who did."""

    async def body(service: Service, ids: dict[str, str]) -> None:
        waits = service.fleet.loops[ids[STORES[0]]]
        async with waits._turn:
            policy = ADOC if method == "PUT" else None
            asked = asyncio.create_task(service.call(method, asking("store=balances"), policy))
            book, both = service.fleet.audit._book, {ids[store] for store in STORES[:2]}
            await until(lambda: {each.target for each in book.operations} == both, "it is noted")
            assert not asked.done()
        assert (await asked)[0] == 200
        assert len(book.operations) == 2

    with_stores(tmp_path, body)


def test_where_it_cannot_work_it_is_not_set(tmp_path: Path) -> None:
    async def body(service: Service, ids: dict[str, str]) -> None:
        held = {"controller": "manual", "parameters": {"rate_limit": 50_000_000}}
        status, answer = await service.call("PUT", asking("store=balances"), held)
        assert status == 200, answer
        assert (set(answer["done"]), set(answer["failed"])) == ({ids[STORES[0]]}, {ids[STORES[1]]}), answer
        assert "manual cannot work on" in answer["failed"][ids[STORES[1]]]
        assert (laws(service)[STORES[0]], laws(service)[STORES[1]]) == ("manual", "fixed")

    with_stores(tmp_path, body)


def test_closed_ones_are_left_as_they_are(tmp_path: Path) -> None:
    async def body(service: Service, ids: dict[str, str]) -> None:
        window = next(each for each in service.agent.databases if each.path.endswith(STORES[2]))
        service.agent.remove(window)
        await until(lambda: service.fleet.loops[ids[STORES[2]]].state == "closed", "it is closed")
        _, answer = await service.call("PUT", asking("application=orders"), ADOC)
        assert set(answer["done"]) == set(ids.values()) - {ids[STORES[2]]}
        assert set(answer["closed"]) == {ids[STORES[2]]}
        assert laws(service)[STORES[2]] == "fixed"
        _, listed = await service.call("GET", "/v1/targets")
        assert listed["kept"] == [], "nothing is remembered of what was not meant"
        for method, policy in (("PUT", ADOC), ("DELETE", None)):
            status, problem = await service.call(method, asking("segment=*"), policy)
            assert (status, problem["detail"]) == (
                409,
                "the one that matches is closed; set the policy of a closed database by its name",
            )

    with_stores(tmp_path, body)


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path: Path) -> None:
    async def body(service: Service, ids: dict[str, str]) -> None:
        del ids
        refused: list[tuple[str, Any, int, str]] = [
            ("/v1/policy", ADOC, 422, "where is missing"),
            (asking("orders"), ADOC, 422, "where: a condition is NAME=PATTERN, such as application=orders, not "),
            (asking("app=orders"), ADOC, 422, "where: there is no label 'app'; there are path, application, task, "),
            (asking("application=ordres"), ADOC, 404, "no database has a label application that matches 'ordres'; did "
             "you mean orders?"),
            (asking("application=shop"), ADOC, 404, "no database has a label application that matches 'shop'; there is "
             "orders"),
            (asking("operator=*"), ADOC, 404, "no database has a label operator that matches '*'; no database has the "
             "label operator"),
            (asking("path=/nowhere/*"), ADOC, 404, "no database has a path that matches '/nowhere/*'; there are "),
            (asking("task=global", "store=balances"), ADOC, 404, "no database matches all of these conditions, though "
             "each of them matches one"),
            (asking("application=orders"), {"controller": "adco"}, 422, "there is no controller 'adco'; did you mean "
             "adoc?"),
            (asking("application=orders"), {"controller": "adoc", "parameters": {"batch_max_bytes": "64M"}}, 422,
             "batch_max_bytes must be 64MB"),
        ]  # fmt: skip
        for path, policy, status, sentence in refused:
            got, problem = await service.call("PUT", path, policy)
            assert (got, problem["detail"][: len(sentence)]) == (status, sentence)
        assert set(laws(service).values()) == {"fixed"}

    with_stores(tmp_path, body)
