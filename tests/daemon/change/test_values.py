"""One map of option values, and an agent's report: the same thing twice."""

import copy
import pickle
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.model.snapshot import OptionValues
from adocd.model.values import RATE_LIMITER, OptionName, flat, nested, of_database, of_family, of_pool

_value = st.sampled_from(["1", "true"])
_options = st.fixed_dictionaries({"write_buffer_size": _value}, optional={"bytes_per_sync": _value})
_reports = st.builds(
    OptionValues,
    database=_options | st.just({}),
    column_families=st.fixed_dictionaries({}, optional=dict.fromkeys(["default", "index", "a (b)", ""], _options)),
    rate_limiter_bytes_per_s=st.none() | st.integers(0, 1 << 40),
    thread_pools=st.fixed_dictionaries({}, optional=dict.fromkeys(["low", "high", "bottom"], st.integers(0, 128))),
)


@given(_reports)
def test_there_and_back(report: OptionValues) -> None:
    assert nested(flat(report)) == report


def test_every_value_has_its_own_name() -> None:
    report = OptionValues({"a": "1"}, {"x": {"a": "2"}, "y": {"a": "3"}}, 4, {"low": 5})
    assert flat(report) == {
        of_database("a"): "1",
        of_family("x", "a"): "2",
        of_family("y", "a"): "3",
        RATE_LIMITER: "4",
        of_pool("low"): "5",
    }


@pytest.mark.parametrize(
    ("option", "written"),
    [
        (of_database("max_background_jobs"), "max_background_jobs"),
        (of_family("default", "write_buffer_size"), "write_buffer_size (default)"),
        (of_pool("low"), "thread_pool_low"),
        (RATE_LIMITER, "rate_limiter_bytes_per_s"),
    ],
)
def test_how_an_option_is_written(option: OptionName, written: str) -> None:
    assert str(option) == written


def test_a_name_is_the_same_wherever_it_was_made() -> None:
    made, known = OptionName("column_family", "write_buffer_size", "default"), of_family("default", "write_buffer_size")
    assert made == known
    assert hash(made) == hash(known)
    assert asdict(known) == {"scope": "column_family", "option": "write_buffer_size", "name": "default"}
    for other in (copy.deepcopy(known), pickle.loads(pickle.dumps(known))):  # noqa: S301  # our own bytes
        assert {known: 1}[other] == 1
