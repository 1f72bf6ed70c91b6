"""Figures, states, decisions and settings in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from adocd.api.changed import Changed, changed
from adocd.api.repeats import CHANGED_NOTHING, in_rows
from adocd.api.web.page.model import decisions, settings
from adocd.api.web.page.model.decisions import ToldDecision
from adocd.diagnosis.held import MeasuredSpan
from adocd.model import units
from adocd.model.knob import Knob
from tests.diagnosis.writers import held_points
from tests.page.points import decision


def told_of(record: dict[str, Any], spans: Sequence[MeasuredSpan] = (), now_unix_s: float = 0.0) -> ToldDecision:
    (row,) = in_rows([record])
    return decisions.told(row, spans, now_unix_s)


@pytest.mark.parametrize("outcome", CHANGED_NOTHING)
def test_what_changed_nothing_is_credited_with_nothing(outcome: str) -> None:
    spans = held_points(40, 100, 0.9) + held_points(100, 160, 0.0)
    told = told_of(decision(outcome=outcome), spans, 200.0)
    assert told.effect == decisions.NO_EFFECT
    assert told.look != "good", "a dry run never looks like success"


@pytest.mark.parametrize("outcome", ["in-flight", "reverted-by-engine", "changed-by-someone-else"])
def test_what_is_open_or_did_not_last_is_credited_with_nothing(outcome: str) -> None:
    assert told_of(decision(outcome=outcome), held_points(40, 160, 0.5), 200.0).effect == ""


@pytest.mark.parametrize("rule", ["daemon.fall_back", "safety.memory_budget", "operator.override", "actuator.put_back"])
def test_what_was_done_last_is_not_only_a_laws_decision(rule: str) -> None:
    asked = decision()
    done = decision(rule=rule, settings=[])
    again = [decision(rule=rule, settings=[]) for rule in ("actuator.repeat", "adoc.again")]
    found = decisions.newest(in_rows([asked, done, *again]))
    assert found is not None
    assert found.record["rule"] == rule
    only = decisions.newest(in_rows(again[:1]))
    assert only is not None
    assert only.record["rule"] == "actuator.repeat"
    assert decisions.newest([]) is None


def test_a_decision_is_told_with_signal_rule_guard_and_effect() -> None:
    spans = held_points(40, 100, 0.5) + held_points(100, 160, 0.1)
    told = told_of(decision(guards=["memory budget: too much"]), spans, 200.0)
    assert told.what == ("batch size (default) → 64 MiB",)
    assert (told.outcome, told.look) == ("applied in 31 ms", "good")
    assert told.guards == ("memory budget: too much",)
    assert told.effect == "held 50 % of the 60 s before, 10 % of the 60 s after"


def test_an_effect_that_cannot_be_told_yet_is_not_told() -> None:
    assert decisions.effect(100.0, held_points(40, 102, 0.5), 102.0) == ""


@pytest.mark.parametrize("knob", list(Knob))
def test_every_knob_has_its_words(knob: Knob) -> None:
    record = decision(settings=[{"knob": knob.value, "value": 1, "column_family": None}])
    assert told_of(record).what[0].startswith(knob.value.replace("_", " "))


def test_what_failed_is_said_with_the_reason() -> None:
    told = told_of(decision(outcome="rejected", detail="Invalid argument", elapsed_s=0.1))
    assert (told.outcome, told.look) == ("rejected: Invalid argument", "bad")


def test_a_newer_version_of_a_decision_replaces_it() -> None:
    known = [decision(1, outcome="applied"), decision(2, outcome="in-flight")]
    merged = decisions.merged(known, [decision(3), decision(2, outcome="applied")], 2)
    assert [(each["sequence"], each["outcome"]) for each in merged] == [(2, "applied"), (3, "applied")]


@pytest.mark.parametrize(
    ("news", "is_new_count"),
    [
        ([(2, 20.0)], False),  # a new version
        ([(4, 40.0)], False),
        ([(2, 50.0)], True),  # a known number at another time
        ([(1, 40.0)], True),  # a lower number later
        ([(1, 5.0)], False),  # one that was not read before
        ([(9, 5.0)], False),  # the clock was set back
        ([], False),
    ],
)
def test_a_daemon_that_counts_anew_is_noticed(news: list[tuple[int, float]], is_new_count: bool) -> None:
    known = [decision(2, 20.0), decision(3, 30.0)]
    records = [decision(sequence, unix_s, outcome="dry-run") for sequence, unix_s in news]
    assert decisions.are_of_another_count(known, records) is is_new_count
    assert not decisions.are_of_another_count([], records)


LAWS: dict[str, dict[str, Any]] = {
    "adoc": {
        "parameters": {"threads_max": 20, "batch_max_bytes": 512 << 20, "tune_batch": True},
        "limits": {"threads_max": [1, 128], "batch_max_bytes": [1 << 20, None]},
    },
    "mimd": {"parameters": {"max_bytes_per_s": None}, "limits": {}},
}


def test_a_laws_parameters_are_fields_with_unit_range_and_default() -> None:
    threads, batch, switch = settings.fields_of("adoc", LAWS, {"threads_max": 8, "tune_batch": False})
    assert (threads.value, threads.default, threads.hint) == ("8", "20", "from 1 to 128; default 20")
    assert (batch.value, batch.default) == ("", "512 MiB")
    assert batch.hint == "bytes, or such as 64 MiB; from 1 MiB; default 512 MiB"
    assert (switch.is_switch, switch.value, switch.hint) == (True, "false", "default true")
    *_, rate = settings.fields_of("adoc+mimd", LAWS, {"mimd.max_bytes_per_s": 64 << 20})
    assert (rate.name, rate.value) == ("mimd.max_bytes_per_s", "64 MiB")
    assert rate.hint == "bytes/s, or such as 64 MiB; no default"
    assert settings.fields_of("gone", LAWS, {}) == []


@pytest.mark.parametrize(
    ("bytes_per_s", "shown"), [(64 << 20, "64 MiB"), (210_000_000, "210000000"), (512, "512"), (0, "0")]
)
def test_a_field_is_filled_in_with_what_it_takes(bytes_per_s: int, shown: str) -> None:
    (field,) = settings.fields_of("mimd", LAWS, {"max_bytes_per_s": bytes_per_s})
    assert field.value == shown
    assert units.read(field.value, "bytes/s") == bytes_per_s


@pytest.mark.parametrize(("law", "why"), [("", "choose a law"), ("adoc+gone", "the law gone, so its parameters")])
def test_a_law_whose_parameters_have_no_fields_is_not_set(law: str, why: str) -> None:
    settings.check_law("adoc+mimd", LAWS)
    with pytest.raises(settings.InputNotUnderstood, match=why):
        settings.check_law(law, LAWS)


def test_what_is_typed_into_fields_becomes_parameters() -> None:
    typed = {"threads_max": "8", "tune_batch": "false", "batch_max_bytes": "96MiB", "name": "x", "left": " "}
    assert settings.parameters(typed) == {
        "threads_max": 8,
        "tune_batch": False,
        "batch_max_bytes": "96MiB",
        "name": "x",
    }


def test_options_that_differ_from_their_originals_are_found() -> None:
    now = {"database": {"a": "2", "b": "1"}, "column_families": {"default": {"c": "5"}}, "rate_limiter_bytes_per_s": 9}
    then = {"database": {"a": "1"}, "column_families": {"default": {"c": "5"}}, "rate_limiter_bytes_per_s": 7}
    detail = {"options": now, "originals": then, "state": "attached"}
    found = changed(detail) or []
    assert [(each.scope, each.option, each.now, each.original) for each in found] == [
        ("database", "a", "2", "1"), ("process", "rate_limiter_bytes_per_s", "9", "7"),
    ]  # fmt: skip
    assert settings.changed_in_words(detail, "These go back") == (
        "These go back: a 2 (originally 1), rate_limiter_bytes_per_s 9 bytes/s (originally 7 bytes/s)."
    )
    assert changed(detail | {"originals": now}) == []
    grown = {"options": now | {"thread_pools": {"low": 6}}, "originals": now | {"thread_pools": {"low": 2}}}
    assert changed(grown | {"sample": {"threads_by": "max_background_jobs"}}) == [], "RocksDB has made it grow"
    assert changed(grown | {"sample": {"threads_by": "thread pools"}}) == [
        Changed("process", "thread_pool_low", "6", "2")
    ]
    assert settings.changed_in_words(detail | {"originals": now}, "") == "No option differs from its original now."


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("closed", "while it is closed"),
        ("silent", "while its agent does not answer"),
        ("attached", "before it is measured"),
    ],
)
def test_that_nothing_is_known_is_not_that_nothing_differs(state: str, why: str) -> None:
    detail = {"options": None, "originals": None, "state": state}
    assert changed(detail) is None
    assert settings.changed_in_words(detail, "These go back") == (
        f"Which options differ from their originals is not known {why}."
    )


def test_what_a_policy_would_change_is_said_line_by_line() -> None:
    difference = {"changes": [{"field": "parameters.threads_max", "now": None, "wanted": 8}], "refused": None}
    assert settings.difference_in_words(difference) == ["parameters.threads_max: default → 8"]
    assert "nothing would change" in settings.difference_in_words({"changes": [], "refused": None})[0]


CAN = {
    "column_family_options": ["write_buffer_size"],
    "database_options": ["max_background_jobs"],
    "rate_limiter": True,
}


def with_buffers(**sizes: int) -> dict[str, Any]:
    families = {name: {"write_buffer_size": str(size << 20), "disable_auto_compactions": "false"}
                for name, size in sizes.items()}  # fmt: skip
    values = {"database": {"max_background_jobs": "4"}, "column_families": families, "rate_limiter_bytes_per_s": None}
    return {"capabilities": CAN, "options": values}


def test_the_value_now_is_that_of_the_chosen_column_family() -> None:
    assert settings.pinnable(with_buffers(default=64)) == {
        "max_background_jobs": {None: "4"}, "write_buffer_size": {"default": str(64 << 20)},
    }  # fmt: skip
    values = settings.pinnable(with_buffers(default=64, meta=32))["write_buffer_size"]

    def now(family: str | None) -> str:
        return settings.value_in_words("write_buffer_size", values, family)

    assert (now("default"), now("meta"), now("dropped")) == ("64 MiB", "32 MiB", "unknown")
    assert now(None) == "64 MiB in default, 32 MiB in meta", "all of them, which differ"
    same = settings.pinnable(with_buffers(default=64, meta=64))["write_buffer_size"]
    assert settings.value_in_words("write_buffer_size", same, None) == "64 MiB"
    many = settings.pinnable(with_buffers(**{f"f{number}": number for number in range(1, 8)}))["write_buffer_size"]
    assert settings.value_in_words("write_buffer_size", many, None).endswith("4 MiB in f4, and 3 more")
    assert settings.value_in_words("max_background_jobs", {None: "4"}, None) == "4"
