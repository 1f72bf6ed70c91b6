"""Laws on targets that cannot do all they need: refused with the reason and the way out."""

from dataclasses import replace

import pytest

from adocd.controllers import registry
from adocd.daemon.change.reach import out_of_reach
from adocd.model.capabilities import Capabilities
from adocd.model.policy import Policy
from tests.builders import CAPABILITIES, POOLS_ONLY, sample

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
