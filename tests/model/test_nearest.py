"""A misspelt name is answered by the nearest one, or by those that there are."""

from __future__ import annotations

from adocd.model.nearest import instead, unknown


def test_the_nearest() -> None:
    assert unknown("law", "adco", ["adoc", "fixed"]) == "there is no law 'adco'; did you mean adoc?"
    assert unknown("law", "ADOC", ["adoc", "fixed"]) == "there is no law 'ADOC'; did you mean adoc?"


def test_those_that_there_are_where_none_is_near() -> None:
    assert unknown("law", "xyz", ["adoc", "fixed"]) == "there is no law 'xyz'; there are adoc, fixed"
    assert unknown("law", "xyz", ["adoc"]) == "there is no law 'xyz'; there is adoc"
    assert unknown("law", "xyz", []) == "there is no law 'xyz'"
    assert instead("xyz", map(str, range(100))).endswith("38, 39 and 60 more")


def test_nobody_makes_us_compare_long_names() -> None:
    assert len(unknown("law", "x" * 100_000, ["adoc"])) < 300
