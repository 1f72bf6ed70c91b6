"""What a law is shown of a database whose options another one turns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adocd.controllers.base import Controller
from adocd.controllers.beside import as_if_alone, others_turn
from adocd.model.decision import Decision
from adocd.model.knob import KNOBS, Knob
from adocd.model.overflow import Overflow
from adocd.model.sample import Sample
from adocd.model.values import of_family
from tests.builders import GIB, column_family, option_values, sample
from tests.controllers.laws import make, settings

ADOC_READS = {Knob.LEVEL0_SLOWDOWN, Knob.SOFT_PENDING_LIMIT}
SLOWDOWN = KNOBS[Knob.LEVEL0_SLOWDOWN].options[0]
HALF = {"tune_batch": False}


def turned(**figures: Any) -> Sample:
    """A database with these figures and options, whose owner has RocksDB's defaults."""
    family = column_family(**{"l0_files": 5, **figures})
    return replace(sample(family), originals=option_values())


@pytest.mark.parametrize(
    ("law", "other", "knobs"),
    [
        (make("adoc"), make("spring-and-gear"), {Knob.LEVEL0_SLOWDOWN}),
        (make("adoc-released"), make("spring-and-gear"), {Knob.LEVEL0_SLOWDOWN}),
        (make("adoc"), make("toggle", tune_threads=False), ADOC_READS),
        (make("adoc", **HALF), make("silk"), ADOC_READS),
        (make("adoc", **HALF), make("stability"), ADOC_READS),
        (make("adoc"), make("mimd"), set()),
        (make("adoc"), make("silk", hold=False), set()),
        (make("adoc", tune_batch=False), make("manual", level0_slowdown_trigger=9), set()),
        (make("spring-and-gear"), make("adoc"), set()),
        (make("adoc"), make("tikv"), ADOC_READS),
        (make("adoc"), make("cockroach"), {Knob.LEVEL0_SLOWDOWN}),
        (make("adoc"), make("speedb"), set()),
        (make("speedb"), make("stability"), {Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP, Knob.SOFT_PENDING_LIMIT}),
    ],
    ids=lambda value: value.name if isinstance(value, Controller) else "",
)
def test_what_a_law_reads_and_another_turns(law: Controller, other: Controller, knobs: set[Knob]) -> None:
    """What `manual` holds is the operator's word, so that other laws judge by it."""
    assert others_turn(law, [other, law]) == knobs


def test_a_limit_that_another_law_tightens_is_the_owners() -> None:
    tight = turned(level0_slowdown_writes_trigger=4)
    assert tight.overflow == (Overflow.LEVEL0,)
    shown = as_if_alone(tight, ADOC_READS)
    assert shown.overflow == shown.column_families[0].overflow == ()
    assert shown.column_families[0].options.level0_slowdown_writes_trigger == 20
    assert shown.options.column_families["default"][SLOWDOWN] == "20"
    assert as_if_alone(shown, ADOC_READS) is shown


@pytest.mark.parametrize(
    "lifted",
    [
        {"l0_files": 100, "level0_slowdown_writes_trigger": 1 << 30},
        {"pending_compaction_bytes": 100 * GIB, "soft_pending_compaction_bytes_limit": 0},
        {"pending_compaction_bytes": 100 * GIB, "soft_pending_compaction_bytes_limit": 256 * GIB},
    ],
)
def test_a_limit_that_another_law_lifts_is_lifted(lifted: dict[str, int]) -> None:
    """What piles up below it is meant."""
    piled = turned(**lifted)
    assert as_if_alone(piled, ADOC_READS) is piled
    assert piled.overflow == ()


def test_a_slowdown_that_the_owner_has_switched_off_is_the_laxest() -> None:
    found = turned(l0_files=30, level0_slowdown_writes_trigger=21)
    family = {**found.options.column_families["default"], SLOWDOWN: "-1"}
    owners = replace(option_values(), column_families={"default": family})
    assert found.overflow == (Overflow.LEVEL0,)
    assert as_if_alone(replace(found, originals=owners), ADOC_READS).overflow == ()


def test_an_overflow_by_the_owners_limits_is_one() -> None:
    tight = turned(l0_files=20, level0_slowdown_writes_trigger=4)
    assert as_if_alone(tight, ADOC_READS).overflow == (Overflow.LEVEL0,)
    memory = turned(level0_slowdown_writes_trigger=4)
    (family,) = memory.column_families
    memory = replace(memory, column_families=(replace(family, immutable_memtables=2),))
    assert as_if_alone(memory, ADOC_READS).overflow == (Overflow.MEMORY,)


def test_a_pin_is_the_operators_word() -> None:
    tight = replace(turned(level0_slowdown_writes_trigger=4), pinned=frozenset({of_family("default", SLOWDOWN)}))
    assert as_if_alone(tight, ADOC_READS) is tight


def test_where_nobody_knows_what_the_owner_had_it_is_as_it_is() -> None:
    tight = replace(turned(level0_slowdown_writes_trigger=4), originals=None)
    assert as_if_alone(tight, ADOC_READS) is tight


def test_a_composite_that_is_asked_with_one_sample_shows_each_its_own() -> None:
    both: Controller = make("adoc+spring-and-gear")
    tight = turned(level0_slowdown_writes_trigger=4)
    assert make("adoc").step(tight) is not None
    decided: Decision | None = both.step(tight)
    assert Knob.BACKGROUND_JOBS not in settings(decided)
