"""Several laws at once: what a policy may name, and what it may not."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from adocd.controllers import registry
from adocd.controllers.composite import Composite, conflict, joined, parts_of
from adocd.controllers.mimd import DRAINS
from adocd.daemon.change.reach import out_of_reach
from adocd.model.decision import Decision, Setting
from adocd.model.knob import Knob, contend
from adocd.model.policy import ParameterValue, Policy
from tests.builders import CAPABILITIES, column_family, sample
from tests.controllers.laws import MB, PARAMETERS, Plant, make, settings

MIMD: dict[str, ParameterValue] = {"mimd.max_bytes_per_s": 400 * MB}
TOGGLE: dict[str, ParameterValue] = {"toggle.cap_bytes_per_s": 190 * MB}


def test_each_gets_its_own_parameters() -> None:
    law = registry.create(Policy("adoc+mimd", {**MIMD, "adoc.tune_batch": False, "mimd.refill_period_ms": 50}))
    assert law.name == "adoc+mimd"
    assert isinstance(law, Composite)
    adoc, mimd = parts_of(law)
    assert adoc.knobs == {Knob.BACKGROUND_JOBS}
    assert (adoc.period_s, mimd.period_s) == (1.0, 5.0)
    assert parts_of(adoc) == (adoc,)


def test_what_its_laws_can_do_without_it_can_do_without() -> None:
    """Threads that `tide` can do without are no reason to refuse it beside a law that needs none."""
    law = registry.create(Policy("tide+manual", {"manual.file_size": 64 << 20}))
    assert Knob.BACKGROUND_JOBS in law.knobs & law.optional_knobs
    assert Knob.FILE_SIZE in law.knobs - law.optional_knobs
    assert Knob.BACKGROUND_JOBS not in registry.create(Policy("mimd+adoc", MIMD)).optional_knobs


@pytest.mark.parametrize("name", sorted(registry.LAWS.keys() - {"fixed"}))
def test_what_one_of_its_laws_needs_it_needs(name: str) -> None:
    given = {f"{name}.{parameter}": value for parameter, value in PARAMETERS.get(name, {}).items()}
    for controller in (f"fixed+{name}", f"{name}+fixed"):
        assert registry.create(Policy(controller, given)).needs == make(name).needs


def test_where_one_of_its_laws_cannot_work_it_is_refused() -> None:
    """Without the ticker `mimd` beside `adoc` set the limiter to half of the maximum, and never looked at it again."""
    law, plant = registry.create(Policy("adoc+mimd", MIMD)), Plant()
    assert out_of_reach(law, plant.sample(), CAPABILITIES) is None
    plant.tickers = None
    why = out_of_reach(law, plant.sample(), CAPABILITIES)
    assert why is not None
    assert why.startswith(f"the ticker {DRAINS} is needed, and the database was opened without Statistics")


def test_the_way_out_is_a_parameter_as_the_policy_writes_it() -> None:
    """Of the law that turns the knob: `adoc-released` has the same switch, and it is off."""
    law = registry.create(Policy("adoc+adoc-released", {"adoc.tune_threads": False, "adoc-released.tune_batch": False}))
    lacking = replace(CAPABILITIES, column_family_options=("write_buffer_size",), events=("flush",))
    why = out_of_reach(law, Plant().sample(), lacking)
    assert why is not None
    assert why.endswith("; or leave batch_size alone with adoc.tune_batch=false")


def test_asked_with_one_sample_all_parts_answer() -> None:
    law = registry.create(Policy("manual+adoc", {"manual.delayed_write_rate": 32 << 20}))
    decided = law.step(sample(column_family(l0_files=20)))
    assert settings(decided) == {Knob.DELAYED_WRITE_RATE: 32 << 20, Knob.BACKGROUND_JOBS: 4}
    assert decided is not None
    assert decided.rule == "manual.hold+adoc.level0"


def test_one_decision_of_none_one_and_two() -> None:
    one = Decision((Setting(Knob.BACKGROUND_JOBS, 4),), "signal", "rule", "reason")
    assert joined([]) is None
    assert joined([one]) is one
    two = Decision((Setting(Knob.RATE_LIMIT, 4),), "other signal", "other", "other reason")
    both = Decision((*one.settings, *two.settings), "signal; other signal", "rule+other", "reason; other reason")
    assert joined([one, two]) == both


@pytest.mark.parametrize(
    ("controller", "parameters", "sentence"),
    [
        ("adoc+adco", {}, "there is no controller 'adco'; did you mean adoc?"),
        ("adoc+", {}, "there is no controller ''; there are adoc,"),
        ("adoc+adoc", {}, "'adoc+adoc' names a law twice: a database runs each law once"),
        (
            "adoc+mimd",
            {"max_bytes_per_s": 1},
            "there are several laws, so 'max_bytes_per_s' must begin with the one it is for: adoc. or mimd.",
        ),
        ("adoc+mimd", {"silk.hold": True}, "so 'silk.hold' must begin with the one it is for: adoc. or mimd."),
        ("adoc+mimd", {"mimd.maximum": 1, **MIMD}, "mimd has no parameter 'maximum'; it has max_bytes_per_s,"),
        ("adoc+mimd", {}, "mimd needs the parameter max_bytes_per_s (what the device can write), which has no default"),
        (
            "adoc+adoc-released",
            {},
            "adoc and adoc-released cannot work together: both turn background_jobs; leave one law out, or set "
            "adoc.tune_threads=false or adoc-released.tune_threads=false",
        ),
        (
            "adoc+toggle",
            TOGGLE,
            "adoc and toggle cannot work together: background_jobs and compaction_threads exclude each other; leave "
            "one law out, or set adoc.tune_threads=false or toggle.tune_threads=false",
        ),
        (
            "stability+spring-and-gear",
            {},
            "stability and spring-and-gear cannot work together: both turn level0_slowdown_trigger; leave one law out",
        ),
        (
            "speedb+tikv",
            {},
            "speedb and tikv cannot work together: both turn delayed_write_rate; leave one law out",
        ),
        (
            "adoc+stability",
            {},
            "adoc and stability cannot work together: batch_size and file_size exclude each other; leave one law out, "
            "or set adoc.tune_batch=false",
        ),
    ],
)
def test_what_cannot_be_is_one_sentence_with_the_way_out(
    controller: str, parameters: dict[str, ParameterValue], sentence: str
) -> None:
    with pytest.raises(registry.PolicyError) as error:
        registry.create(Policy(controller, parameters))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("controller", "parameters"),
    [
        ("adoc+toggle", {**TOGGLE, "toggle.tune_threads": False}),
        ("adoc+toggle", {**TOGGLE, "adoc.tune_threads": False}),
        ("adoc+spring-and-gear+mimd", MIMD),
        ("adoc+silk", {"silk.bandwidth_bytes_per_s": 200 * MB, "silk.hold": False}),
        ("fixed+adoc", {}),
    ],
)
def test_the_way_out_leads_out(controller: str, parameters: dict[str, ParameterValue]) -> None:
    law = registry.create(Policy(controller, parameters))
    for one, other in combinations(parts_of(law), 2):
        assert not one.knobs & other.knobs


def test_knobs_that_share_an_option_or_make_it_dead_contend_both_ways() -> None:
    assert contend(Knob.BATCH_SIZE, Knob.LEVEL_BASE_SIZE)
    assert contend(Knob.BACKGROUND_JOBS, Knob.FLUSH_THREADS)
    assert not contend(Knob.FLUSH_THREADS, Knob.COMPACTION_THREADS)
    for one, other in combinations(Knob, 2):
        assert contend(one, other) == contend(other, one)
        assert contend(one, one)


def test_laws_that_cannot_work_together_are_found_in_either_order() -> None:
    adoc, toggle = make("adoc"), make("toggle")
    assert conflict([adoc, toggle]) is not None
    assert conflict([toggle, adoc]) is not None
    assert conflict([adoc, make("mimd"), make("fixed")]) is None
