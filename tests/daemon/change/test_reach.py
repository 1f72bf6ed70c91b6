"""Laws on targets that cannot do all they need: refused with the reason and the way out."""

from dataclasses import replace

import pytest

from adocd.controllers import registry
from adocd.daemon.change.reach import Reach, out_of_reach, without_ours
from adocd.model.capabilities import Capabilities
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from tests.builders import CAPABILITIES, POOLS_ONLY, sample
from tests.controllers.laws import DATABASE, Plant, make

EVERYTHING = replace(CAPABILITIES, database_options=tuple(DATABASE), events=("flush", "compaction"))
OLD = {"max_background_flushes": "4"}


def _why(capabilities: Capabilities, database: dict[str, str], **parameters: bool) -> str | None:
    controller = registry.create(Policy("adoc", parameters))
    now = sample()
    options = replace(now.options, database={**now.options.database, **database})
    return out_of_reach(controller, replace(now, threads_by=None, options=options), capabilities)


def test_a_law_that_can_turn_all_it_needs_is_in_reach() -> None:
    assert out_of_reach(registry.create(Policy("adoc")), sample(), CAPABILITIES) is None
    assert out_of_reach(registry.create(Policy("fixed")), replace(sample(), threads_by=None), Capabilities()) is None


@pytest.mark.parametrize(
    ("capabilities", "database", "reason"),
    [
        (CAPABILITIES, OLD, "max_background_jobs has no effect, because max_background_flushes or"),
        (POOLS_ONLY, {}, "the 2 jobs that the database was opened with: open it with a larger max_background_jobs"),
        (Capabilities(column_family_options=CAPABILITIES.column_family_options), {}, "neither max_background_jobs"),
    ],
)
def test_dead_threads_have_a_reason_and_a_way_out(
    capabilities: Capabilities, database: dict[str, str], reason: str
) -> None:
    why = _why(capabilities, database)
    assert why is not None
    assert reason in why
    assert why.endswith("; or leave background_jobs alone with tune_threads=false")
    assert _why(capabilities, database, tune_threads=False) is None


def test_an_agent_that_cannot_change_the_batch() -> None:
    lacking = replace(CAPABILITIES, column_family_options=("write_buffer_size",))
    why = out_of_reach(registry.create(Policy("adoc")), sample(), lacking)
    assert why == (
        "this agent cannot change target_file_size_base, max_bytes_for_level_base, which batch_size needs; "
        "or leave batch_size alone with tune_batch=false"
    )


# -- needs

DRAINS = "rocksdb.number.rate_limiter.drains"


def _limited(**members: object) -> Sample:
    now = sample()
    return replace(now, options=replace(now.options, rate_limiter_bytes_per_s=1 << 27), **members)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "now", "capabilities", "reason"),
    [
        ("mimd", sample(), CAPABILITIES, "there is no rate limiter here that this agent can change"),
        ("mimd", _limited(), POOLS_ONLY, "there is no rate limiter here that this agent can change"),
        ("mimd", _limited(), CAPABILITIES, f"the ticker {DRAINS} is needed, and the database was opened without Stat"),
        ("mimd", _limited(ticker_increases={}), CAPABILITIES, "and this database's Statistics do not have it"),
        ("adoc-released", sample(), CAPABILITIES, "this agent does not report flush events, which the law needs"),
        ("spring-and-gear", sample(), CAPABILITIES, "this agent does not report the bytes of each level"),
        ("toggle", sample(), EVERYTHING, "this agent does not report what flushes and compactions write"),
        ("stability", sample(), POOLS_ONLY, None),
        ("spring-and-gear", sample(), POOLS_ONLY, "cannot change delayed_write_rate, which delayed_write_rate needs"),
    ],
)
def test_what_a_law_needs_and_cannot_have_is_named(
    name: str, now: Sample, capabilities: Capabilities, reason: str | None
) -> None:
    why = out_of_reach(make(name), now, capabilities)
    if reason is None:
        assert why is None
    else:
        assert why is not None
        assert reason in why


def test_with_all_of_it_every_law_can_work() -> None:
    plant = Plant()
    for name in registry.LAWS:
        assert out_of_reach(make(name), plant.sample(), EVERYTHING) is None


def test_a_figure_that_is_missing_for_a_moment_ends_nothing() -> None:
    plant, law, reach = Plant(), make("tide"), Reach()
    plant.level_bytes = None
    assert reach.lack(law, plant.sample(), EVERYTHING) is not None, "it has never been there"
    plant.level_bytes = (0,) * 7
    assert reach.lack(law, plant.sample(), EVERYTHING) is None
    plant.level_bytes = None
    lacks = [reach.lack(law, plant.sample(), EVERYTHING) for _ in range(60)]
    assert lacks[:59] == [None] * 59
    assert lacks[59] == "this agent does not report the bytes of each level, which the law needs"
    plant.level_bytes = (0,) * 7
    assert reach.lack(law, plant.sample(), EVERYTHING) is None


def test_a_knob_that_can_no_longer_be_turned_ends_it_at_once() -> None:
    plant, law, reach = Plant(), make("tide"), Reach()
    assert reach.lack(law, plant.sample(), EVERYTHING) is None
    assert reach.lack(law, plant.sample(), replace(EVERYTHING, column_family_options=())) is not None


def test_a_law_for_level_compaction_is_for_that_alone() -> None:
    plant = Plant(compaction_style="kCompactionStyleUniversal")
    why = out_of_reach(make("silk"), plant.sample(), EVERYTHING)
    assert why == "column family default has kCompactionStyleUniversal, and the law is for level compaction alone"


def test_another_law_begins_from_what_was_before_this_one() -> None:
    now = sample()
    turned = replace(now.options, database={**now.options.database, "max_background_flushes": "4"})
    ours = replace(now, options=turned, threads_by=None)
    assert out_of_reach(make("adoc"), ours, CAPABILITIES) is not None
    assert out_of_reach(make("adoc"), without_ours(ours, now.values, CAPABILITIES), CAPABILITIES) is None
