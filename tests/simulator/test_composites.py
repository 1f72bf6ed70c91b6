"""Laws beside each other: what one turns makes the other do nothing that it would not do alone."""

from __future__ import annotations

import itertools

from adocd.model.options import OUT_OF_THE_WAY
from adocd.simulator.device import MB

from .lived import live
from .scenes import GIB, setup

SECONDS = 700.0
#: What every database here can take for good.
STEADY = 6.0 * MB
TOGGLE = {"toggle.cap_bytes_per_s": 60 * MB, "toggle.dwell_s": 0.0, "toggle.tune_threads": False}
#: Four files of the largest batch, 512 MiB each.
BASE_MOST = 2 * GIB


def test_adoc_beside_spring_and_gear_does_nothing_where_alone_it_does_nothing() -> None:
    """The slowdown trigger is 4 there, and level 0 is often as long."""
    opened = setup("cap-210", "constant", rate=STEADY)
    assert not live("adoc", opened, SECONDS).decisions
    both = live("adoc+spring-and-gear", opened, SECONDS)
    assert "spring-and-gear.follow" in {record.rule for record in both.decisions}
    assert both.most(lambda each: each.l0_files) >= 4
    assert {each.family.level0_slowdown_writes_trigger for each in both.seconds} == {20, 4}
    assert {each.database.max_background_jobs for each in both.seconds} == {2}


def test_adoc_beside_toggle_does_nothing_where_alone_it_does_nothing() -> None:
    """What the toggle lets pile up in level 0 is meant, and no overflow."""
    opened = setup("cap-210", "sine", rate=8.0 * MB)
    assert not live("adoc", opened, SECONDS).decisions
    both = live("adoc+toggle", opened, SECONDS, **{**TOGGLE, "toggle.cap_bytes_per_s": 12 * MB})
    assert "toggle.off" in {record.rule for record in both.decisions}
    assert both.most(lambda each: each.l0_files) >= 20, "the owner's slowdown trigger"
    assert {each.database.max_background_jobs for each in both.seconds} == {2}


def test_the_base_level_stays_bounded_though_the_batch_grows_while_compaction_is_off() -> None:
    toggle = {**TOGGLE, "toggle.cap_bytes_per_s": 30 * MB}
    both = live("adoc+toggle", setup("cap-100", "sine", rate=40.0 * MB), SECONDS, **toggle)
    grown_while_off = [
        after
        for before, after in itertools.pairwise(both.seconds)
        if after.family.write_buffer_size > before.family.write_buffer_size
        and before.family.level0_file_num_compaction_trigger == OUT_OF_THE_WAY
    ]
    assert grown_while_off, "else nothing is seen here"
    assert both.most(lambda each: each.family.max_bytes_for_level_base) <= BASE_MOST
