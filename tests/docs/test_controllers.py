"""docs/controllers.md is true: every law is in its table, with the source, knobs and needs that it names itself."""

from __future__ import annotations

import re

import pytest

from adocd.controllers import registry
from adocd.model.knob import Knob
from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "controllers.md").read_text(encoding="utf-8")
ROWS = {
    cells[0].strip("`"): cells
    for line in PAGE.splitlines()
    if line.startswith("| `") and (cells := [cell.strip() for cell in line.strip("|").split("|")])
}
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_every_law_has_a_row_in_the_registrys_order() -> None:
    assert list(ROWS) == list(registry.LAWS)


@pytest.mark.parametrize("name", registry.LAWS)
def test_a_row_says_what_the_law_says(name: str) -> None:
    law = registry.LAWS[name]
    _, does, source, turns, needs, harm = ROWS[name]
    assert does
    assert harm
    assert source == law.source
    assert needs == str(law.needs)
    if law.knobs == set(Knob):
        assert turns == "whatever is given"
    else:
        assert set(re.findall(r"`(\w+)`", turns)) == law.knobs


@pytest.mark.parametrize("name", registry.LAWS)
def test_readme_names_it(name: str) -> None:
    assert f"`{name}`" in README.partition("\n| [Laws]")[2].partition("\n")[0]
