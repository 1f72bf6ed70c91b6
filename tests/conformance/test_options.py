"""The catalogue of options (adocd.model.options) against the options of the RocksDB that each agent runs on."""

from __future__ import annotations

from typing import Any

import pytest

from adocd.model.options import OPTIONS, OptionFacts
from tests.support.agent_client import AgentClient

pytestmark = pytest.mark.shares_host

FAMILY = [option for option in OPTIONS.values() if option.scope == "column_family"]
DATABASE = [option for option in OPTIONS.values() if option.scope == "database"]


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def reads_as(option: OptionFacts, value: str) -> bool:
    """Tell whether the value is written as the catalogue says."""
    if option.kind == "bool":
        return value in ("true", "false")
    if option.kind == "double":
        return float(value) >= 0
    return option.kind == "text" or value.lstrip("-").isdecimal()


@pytest.fixture
def described(client: AgentClient, db: str) -> tuple[Any, Any]:
    """What the agent says of itself, and of its database."""
    return client.info(), client.database(db)


@pytest.mark.parametrize("option", FAMILY, ids=lambda option: option.name)
def test_an_option_of_column_families(described: tuple[Any, Any], option: OptionFacts) -> None:
    info, database = described
    expected = option.live and version(option.since) <= version(info["rocksdb_version"])
    assert (option.name in info["capabilities"]["column_family_options"]) == expected
    if expected:
        assert reads_as(option, database["originals"]["column_families"]["default"][option.name])


@pytest.mark.parametrize("option", DATABASE, ids=lambda option: option.name)
def test_an_option_of_the_database(described: tuple[Any, Any], option: OptionFacts) -> None:
    """An agent that can change no such option reports them all the same."""
    info, database = described
    expected = option.live and version(option.since) <= version(info["rocksdb_version"])
    values = database["originals"]["database"]
    assert (option.name in values) == expected
    if expected:
        assert reads_as(option, values[option.name])
    if info["capabilities"]["database_options"]:
        assert (option.name in info["capabilities"]["database_options"]) == expected


def test_every_range_is_one() -> None:
    assert len(OPTIONS) > 20
    for option in OPTIONS.values():
        assert option.minimum <= option.maximum, option.name
