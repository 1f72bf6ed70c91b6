"""docs/lint.md has every rule, as the rule itself puts it."""

from adocd.diagnosis.lint.table import rows
from tests.conftest import REPOSITORY


def test_every_rule_is_in_the_table() -> None:
    lines = (REPOSITORY / "docs" / "lint.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("|")] == rows(), "python -m adocd.diagnosis.lint.table prints it"
