"""docs/safety.md is true: its tables are the code's, and the tests that it names exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

from adocd.daemon.change.guards.guard import NAMES
from adocd.daemon.change.translate import options_of
from adocd.daemon.fleet.config import SafetyConfig
from adocd.daemon.fleet.policies import ShapingConfig
from adocd.model.decision import Setting
from adocd.model.decision_record import Outcome
from adocd.model.knob import KNOBS, Knob
from adocd.model.options import OPTIONS
from adocd.model.threads import pool_sizes
from adocd.model.values import RATE_LIMITER, RATE_LIMITER_WORD, of_pool
from tests import builders
from tests.conftest import REPOSITORY
from tests.docs.safety import option_rows

PAGE = (REPOSITORY / "docs" / "safety.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[str]:
    return [line for line in section(title).splitlines() if line.startswith("|")][2:]


def first_cells(title: str) -> list[str]:
    return [row.split("|")[1].strip().strip("`") for row in rows(title)]


def test_the_options_are_the_catalogues() -> None:
    lines = [line for line in section("What can be pinned").splitlines() if line.startswith("|")]
    assert lines == option_rows(), "python -m tests.docs.safety prints it"


def test_every_outcome_is_explained() -> None:
    assert sorted(first_cells("What becomes of a decision")) == sorted(get_args(Outcome))


def test_every_guard_is_explained() -> None:
    """Each says its own name, as a literal, in the module that it is in."""
    changes = REPOSITORY / "adocd" / "daemon" / "change"
    safety = "".join(file.read_text() for file in (changes / "guards").glob("*.py"))
    assert set(first_cells("Safety guards")) == set(re.findall(r'Refusal\("([^"]+)"', safety))
    shaping = (changes / "shaping.py").read_text() + (changes / "judge.py").read_text()
    assert set(first_cells("Shaping guards")) == set(re.findall(r'Note\("(\w+)"', shaping))
    assert {*first_cells("Safety guards"), *first_cells("Shaping guards"), "override"} == set(NAMES)
    keys = {row.split("|")[2].strip().strip("`") for row in rows("Shaping guards")}
    assert keys == set(ShapingConfig.model_fields)
    others = {key for key in SafetyConfig.model_fields if not key.startswith("compaction_off_")}
    assert SafetyConfig.model_fields
    assert others == set(), "[safety] is about that alone"


def test_what_laws_turn_is_named() -> None:
    """And nothing else: no law begins a new write-ahead log, say."""
    families = {knob: "default" if KNOBS[knob].scope == "column_family" else None for knob in Knob}
    settings = [Setting(knob, 4, family) for knob, family in families.items()]
    options = {o for setting in settings for o in options_of(setting, builders.sample(), {})}
    turned = {str(o.option) for o in options - {RATE_LIMITER}} | {str(of_pool(pool)) for pool in pool_sizes(4)}
    turned.add(RATE_LIMITER_WORD)
    words = " ".join(section("What can be pinned").split())
    sentence = words.partition("Laws turn ")[2].partition(" and nothing else.")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == turned
    assert {o.option for o in options - {RATE_LIMITER}} <= set(OPTIONS)


def test_every_test_that_is_named_exists() -> None:
    assert len(set(NAMED)) >= len(rows("Known hazards"))
    missing = [f"{path}::{name}" for path, name in NAMED if name not in defined(REPOSITORY / path)]
    assert missing == []


def test_every_hazard_has_a_test() -> None:
    hazards = rows("Known hazards")
    assert len(hazards) == 29
    assert all(re.search(r"`tests/[^`]+::", row.split("|")[3]) for row in hazards)


def defined(file: Path) -> set[str]:
    if not file.exists():
        return set()
    return {node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)}
