"""What must hold for every law, whichever it is: those of other packages may borrow this suite."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adocd.controllers import registry
from adocd.controllers.composite import Composite
from adocd.daemon.change.guards.bounds import out_of_bounds
from adocd.daemon.change.sound import what_is_wrong
from adocd.daemon.change.translate import options_of
from adocd.model.knob import MIB, Knob
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from tests.builders import GIB
from tests.conftest import REPOSITORY
from tests.controllers.laws import MB, TICKERS, Plant, all_settings, flushed, make

LAWS = sorted(registry.LAWS)
#: These go by rates, and not by how often they are asked: a window may be as long as it likes.
BY_RATE = ["fixed", "manual", "silk", "speedb", "spring-and-gear", "stability"]

_sizes = st.integers(0, 300 * GIB)
_ticks = dict.fromkeys(TICKERS, st.integers(0, 2 * 10**9))


def _figures(
    rates: st.SearchStrategy[float | None],
    sizes: st.SearchStrategy[tuple[int, ...] | None],
    tickers: st.SearchStrategy[dict[str, int] | None],
) -> st.SearchStrategy[dict[str, object]]:
    events = st.lists(st.builds(flushed, st.integers(0, GIB), st.floats(0, 10)), max_size=3).map(tuple)
    members = (
        "flush_written_bytes_per_s",
        "compaction_written_bytes_per_s",
        "written_bytes_per_s",
        "flushed_bytes_per_s",
    )
    return st.fixed_dictionaries(
        {
            "l0_files": st.integers(0, 300),
            "immutable_memtables": st.integers(0, 6),
            "pending_bytes": _sizes,
            "level_bytes": sizes,
            "tickers": tickers,
            "members": st.fixed_dictionaries({**dict.fromkeys(members, rates), "events": events}),
        }
    )


_rates, _levels = st.floats(0, 2e9), st.tuples(*[_sizes] * 7)
#: All of it is measured, or some: a law that needs two figures would hardly ever have both.
_plants = _figures(_rates, _levels, st.fixed_dictionaries(_ticks)) | _figures(
    st.none() | _rates, st.none() | _levels, st.none() | st.fixed_dictionaries({}, optional=_ticks)
)
_series = st.lists(_plants, min_size=1, max_size=12)


def lived(plant: Plant, figures: dict[str, object], interval_s: float) -> Sample:
    for name, value in figures.items():
        setattr(plant, name, value)
    return plant.sample(interval_s)


@pytest.mark.parametrize("name", LAWS)
def test_a_law_says_what_it_is(name: str) -> None:
    law = registry.LAWS[name]
    assert law.name == name
    assert law.summary
    assert law.source
    assert law.period_s > 0
    assert all(isinstance(knob, Knob) for knob in law.knobs | law.optional_knobs)
    assert law.optional_knobs <= law.knobs
    assert law.__doc__
    assert make(name).knobs <= law.knobs
    for switch in law.switches.values():
        parameter, _, value = switch.partition("=")
        assert parameter in law.parameters_model.model_fields
        assert value == "false"


def test_docstrings_refer_to_modules_that_exist() -> None:
    missing = []
    for module in sorted((REPOSITORY / "adocd" / "controllers").rglob("*.py")):
        words = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
        dotted = [f"{name.replace('.', '/')}.py" for name in re.findall(r"\badocd(?:\.\w+)+", words)]
        missing += [
            path for path in (*dotted, *re.findall(r"[\w/]+/\w+\.py\b", words)) if not (REPOSITORY / path).is_file()
        ]
    assert missing == []


@pytest.mark.parametrize("name", [name for name in LAWS if registry.LAWS[name].switches])
def test_a_switch_takes_its_knobs_away(name: str) -> None:
    switches = {switch for knob, switch in make(name).switches.items() if knob in make(name).knobs}
    assert switches
    for switch in switches:
        meant = {knob for knob, its in registry.LAWS[name].switches.items() if its == switch}
        law = make(name, **{switch.partition("=")[0]: False})
        assert not meant & law.knobs
        assert law.optional_knobs <= law.knobs


def acts(name: str, turned: set[Knob]) -> bool:
    """Whether a law has turned a knob, if it has one: of those that did nothing a property says nothing."""
    return bool(turned) or not make(name).knobs


@pytest.mark.parametrize("name", LAWS)
def test_whatever_comes_its_decisions_are_sound_and_within_bounds(name: str) -> None:
    """Rates that cannot be read and tickers that are not there included; also where nothing of it is carried out."""
    turned: set[Knob] = set()

    @settings(max_examples=30, deadline=None)
    @given(series=_series, obeyed=st.booleans())
    def whatever_comes(series: list[dict[str, object]], obeyed: bool) -> None:
        law, plant = make(name), Plant()
        for figures in series:
            sample = lived(plant, figures, law.window_s or law.period_s)
            decision = law.step(sample)
            assert what_is_wrong(decision, law, sample) is None
            for setting in all_settings(decision):
                turned.add(setting.knob)
                changed = options_of(setting, sample, sample.values)
                assert {o: v for o, v in changed.items() if out_of_bounds(o, v) is not None} == {}
            if obeyed:
                plant.do(decision, sample)

    whatever_comes()
    assert acts(name, turned)


@pytest.mark.parametrize("name", LAWS)
def test_the_same_samples_give_the_same_decisions(name: str) -> None:
    turned: set[Knob] = set()

    @settings(max_examples=30, deadline=None)
    @given(series=_series)
    def same_samples(series: list[dict[str, object]]) -> None:
        first, second, plant = make(name), make(name), Plant()
        for figures in series:
            sample = lived(plant, figures, first.window_s or first.period_s)
            decision = first.step(sample)
            assert decision == second.step(sample)
            assert first.declined == second.declined
            turned.update(setting.knob for setting in all_settings(decision))
            plant.do(decision, sample)

    same_samples()
    assert acts(name, turned)


@pytest.mark.parametrize("name", LAWS)
def test_on_a_steady_sample_it_comes_to_rest_and_never_turns_round(name: str) -> None:
    ever: set[Knob] = set()

    @settings(max_examples=40, deadline=None)
    @given(figures=_plants)
    def steady_sample(figures: dict[str, object]) -> None:
        law, plant = make(name), Plant()
        turned: dict[Knob, list[int]] = {}
        for _ in range(70):
            sample = lived(plant, figures, law.window_s or law.period_s)
            decision = law.step(sample)
            plant.do(decision, sample)
            for setting in all_settings(decision):
                turned.setdefault(setting.knob, []).append(setting.value)
        assert plant.step(law) is None
        ever.update(turned)
        for values in turned.values():
            # The first step may go anywhere: RocksDB's limiter begins at a half, wherever it was.
            assert values in (sorted(values), sorted(values, reverse=True)) or values[1:] in (
                sorted(values[1:]),
                sorted(values[1:], reverse=True),
            )

    steady_sample()
    assert acts(name, ever)


@pytest.mark.parametrize("name", BY_RATE)
@settings(max_examples=40, deadline=None)
@given(figures=_plants, parts=st.integers(2, 10))
def test_many_short_windows_lead_where_a_long_one_does(name: str, figures: dict[str, object], parts: int) -> None:
    one_window, short, long_ = 10.0, Plant(), Plant()
    law = make(name)
    for _ in range(4):
        for _ in range(parts):
            sample = lived(short, figures, one_window / parts)
            short.do(law.step(sample), sample)
    law = make(name)
    for _ in range(4):
        sample = lived(long_, figures, one_window)
        long_.do(law.step(sample), sample)
    assert short.values.keys() == long_.values.keys()
    for option, value in short.values.items():
        if value.isdecimal() and option.option in ("delayed_write_rate", "bytes_per_s"):
            assert int(value) == pytest.approx(int(long_.values[option]), rel=0.1, abs=2 * MIB)
        else:
            assert value == long_.values[option]


@pytest.mark.parametrize("name", LAWS)
def test_nothing_measured_is_nothing_broken(name: str) -> None:
    """Neither rates nor tickers, levels or column families."""
    law, plant = make(name), Plant()
    plant.tickers = plant.level_bytes = None
    plant.members = dict.fromkeys(("flush_written_bytes_per_s", "compaction_written_bytes_per_s"))
    blind = plant.sample(law.window_s or law.period_s)
    for sample in (blind, replace(blind, column_families=(), background_jobs=None), blind):
        assert what_is_wrong(law.step(sample), law, sample) is None


def test_all_that_can_work_together_do() -> None:
    composite = registry.create(
        Policy("adoc+mimd+fixed", {"mimd.max_bytes_per_s": 400 * MB, "adoc.threads_max": 8})
    )  # fmt: skip
    assert isinstance(composite, Composite)
    assert composite.knobs == {Knob.BATCH_SIZE, Knob.BACKGROUND_JOBS, Knob.RATE_LIMIT}


def test_where_no_policy_is_named_nothing_is_changed() -> None:
    assert not registry.LAWS[registry.WATCHING].knobs


def test_whoever_lets_adocd_act_and_names_no_law_gets_its_own() -> None:
    policy = registry.plain(Policy(registry.BY_DEFAULT, {"memory_max_bytes": "1 GiB"}))
    assert policy == Policy("tide", {"memory_max_bytes": 1 << 30})
    assert registry.create(policy).name == "tide"
    registry.check_names(registry.BY_DEFAULT)
    with pytest.raises(registry.PolicyError, match=r"there is no controller 'defalt'; did you mean default\?"):
        registry.create(Policy("defalt", {}))
    with pytest.raises(registry.PolicyError, match="there is no controller 'default'"):
        registry.create(Policy("default+mimd", {"mimd.max_bytes_per_s": 400 * MB}))
