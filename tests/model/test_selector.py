"""Databases are meant by patterns of their path and of their labels."""

from __future__ import annotations

import pytest

from adocd.model.labels import LABELS
from adocd.model.selector import NoSelector, Selector, parse

BALANCES = "/state/orders/0_3/rocksdb/balances"
RATES = "/state/orders/global/rocksdb/rates"
WINDOW = "/state/orders/0_3/per-hour/per-hour.1800000600000"
PLAIN = "/var/lib/mydb"


def meant(*conditions: str) -> list[str]:
    selector = parse(conditions)
    return [path for path in (BALANCES, RATES, WINDOW, PLAIN) if selector.matches(path)]


def test_by_path_by_label_and_by_both() -> None:
    assert meant("path=*") == [BALANCES, RATES, WINDOW, PLAIN]
    assert meant("path=/var/*") == [PLAIN]
    assert meant("application=orders") == [BALANCES, RATES, WINDOW]
    assert meant("application=ord*", "task=0_?") == [BALANCES, WINDOW]
    assert meant("application=orders", "path=*/rocksdb/*") == [BALANCES, RATES]
    assert meant("store=balances") == [BALANCES]
    assert meant("store=[!b]*") == [RATES, WINDOW]
    assert meant("application=order") == [], "a pattern is about the whole"
    assert meant("application=Orders") == [], "and about the case"


def test_a_database_without_the_label_is_not_meant() -> None:
    assert meant("segment=*") == [WINDOW]
    assert meant("job=*") == []
    assert meant("application=*") == [BALANCES, RATES, WINDOW]


def test_a_pattern_may_have_an_equals_sign() -> None:
    assert parse(["path=/data/a=b"]) == Selector("/data/a=b")


def test_an_empty_selector_means_all() -> None:
    assert Selector().matches(PLAIN)


@pytest.mark.parametrize(
    ("conditions", "sentence"),
    [
        ([], "say which databases are meant: NAME=PATTERN, with path, application, "),
        (["orders"], "a condition is NAME=PATTERN, such as application=orders, not 'orders'"),
        (["=orders"], "a condition is NAME=PATTERN"),
        (["application="], "a condition is NAME=PATTERN"),
        (["store=a", "store=b"], "store is given twice; write one pattern"),
        (["app=orders"], f"there is no label 'app'; there are path, {', '.join(LABELS[:-1])} and {LABELS[-1]}"),
    ],
)
def test_what_means_nothing_is_refused(conditions: list[str], sentence: str) -> None:
    with pytest.raises(NoSelector) as error:
        parse(conditions)
    assert str(error.value).startswith(sentence)
