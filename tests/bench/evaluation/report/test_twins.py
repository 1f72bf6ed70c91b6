"""A scheme against itself: what the report says of it, counted again here."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from adocd_bench.evaluation.circumstances import Circumstances
from adocd_bench.evaluation.raw import Noise, RawRun
from adocd_bench.evaluation.report.comparison import difference_of
from adocd_bench.evaluation.report.measures import MEASURES
from adocd_bench.evaluation.report.sections_block import block_parts
from adocd_bench.evaluation.report.summary import Block, summarise
from adocd_bench.evaluation.report.twins import SelfTold, twins
from adocd_bench.evaluation.schemes import SCHEMES

from tests.bench.evaluation.report.builders import repeated

RATE = MEASURES["throughput_per_s"]


def against_itself(default: list[int], again: list[int], name: str = "default-again") -> Block:
    """Run the default twice in each repetition, or the default and another scheme."""

    def as_run(scheme: str, per_s: list[int]) -> list[RawRun]:
        used = SCHEMES[scheme].used(Circumstances())
        return [replace(each, scheme=used) for each in repeated(scheme, per_s)]

    (block,) = summarise([*as_run("default", default), *as_run(name, again)])
    return block


def only(block: Block) -> dict[str, SelfTold]:
    ((name, told),) = twins(block)
    assert name == "default-again"
    return {each.measure: each for each in told}


def test_every_five_is_asked() -> None:
    draw = random.Random(3)  # noqa: S311  # no secret
    default, again = ([round(draw.gauss(1000, 100)) for _ in range(10)] for _ in range(2))
    again[:5] = [2 * each for each in default[:5]]
    told = only(against_itself(default, again))["throughput_per_s"]
    pairs = list(zip(again, default, strict=True))
    said = [difference_of(RATE, five) for five in itertools.combinations(pairs, 5)]
    assert told.apart == (1, 2)
    assert told.any_apart == (said.count("more") + said.count("less"), 252)
    assert told.any_apart[0] > 1
    assert told.same == said.count("same")
    assert told.all_pairs.pairs == 10


def test_of_twenty_pairs_a_thousand_fives_are_drawn_and_always_the_same_ones() -> None:
    draw = random.Random(4)  # noqa: S311  # no secret
    default, again = ([round(draw.gauss(1000, 60)) for _ in range(20)] for _ in range(2))
    block = against_itself(default, again)
    told = only(block)["throughput_per_s"]
    assert told.apart[1] == 4
    assert told.any_apart[1] == 1000
    assert 0 < told.same < 1000
    assert only(block) == only(block)


def test_what_never_varied_or_repeats_another_measure_is_left_out() -> None:
    told = only(against_itself([1000, 1010, 990, 1000, 1005], [1000, 1010, 990, 1005, 1000]))
    assert {"throughput_per_s", "with_drain_per_s", "worst_second"} <= told.keys()
    assert not {"held_s", "held_share", "decisions", "all_processing_p99_us"} & told.keys()


def test_disturbed_pairs_are_left_out() -> None:
    block = against_itself([1000, 1010, 990, 1000, 1005, 1000], [1000, 1010, 990, 1005, 1000, 9000])
    runs = [judged.run for scheme in block.schemes for judged in scheme.runs]
    (block,) = summarise([replace(each, noise=Noise(0.5 * (each.repetition == 6))) for each in runs])
    assert only(block)["throughput_per_s"].all_pairs.pairs == 5
    (block,) = summarise([replace(each, noise=Noise(0.5)) for each in runs])
    assert only(block) == {}, "they stay in the figures, as no others are left, and count for nothing here"


def test_the_report_says_it_in_a_sentence_and_a_table() -> None:
    text = str(block_parts(against_itself([1000] * 5, [2000, 2010, 2020, 2000, 2010])))
    assert "default-again against default, which are the same" in text
    assert "The rule told them apart in " in text
    assert "'operations/s in the phase', '5', 'more: 2.01 (2 .. 2.02)', '1 of 1', '100 %', '0 %'" in text


@pytest.mark.parametrize("count", [1, 4])
def test_too_few_pairs_are_said(count: int) -> None:
    block = against_itself([1000] * count, [1100] * count)
    assert only(block) == {}
    assert "the rule says nothing" in str(block_parts(block))


def test_another_scheme_is_no_twin() -> None:
    assert list(twins(against_itself([1000] * 5, [1100] * 5, "adoc"))) == []
