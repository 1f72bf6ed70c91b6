"""From measurements to figures: the arithmetic, the JSON, and what is refused."""

import json

import pytest
from adocd_bench.demo.figures import DemoFacts, DemoResult, HalfFigures, disagreement, half_figures
from adocd_bench.errors import RunFailed
from adocd_bench.programs.fill import FillReport
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.samples import decision, sample

FACTS = DemoFacts("db_bench", 10, "cap-210", "vda", "/tmp", "7.8.3", 77)
REPORT = FillReport(writes_per_s=1000.0, seconds=10.0, writes=10_000)
SECONDS = [1000, 900, 1200]


def _half(policy: str = "fixed", writes_per_s: float = 1000.0, stalled: float = 0.4) -> HalfFigures:
    return HalfFigures(policy, 10.0, 10_000, writes_per_s, 100.0, stalled, 0.1, 0.2)


def test_shares_are_increases_over_the_measured_time() -> None:
    samples = [
        sample(0, counters={"writes": 1000, "stall_micros": 500_000}, stopped_s=0.5, delayed_s=0.0),
        sample(4, counters={"writes": 5000, "stall_micros": 1_000_000}, stopped_s=1.0, delayed_s=0.5),
        sample(8, counters={"writes": 9000, "stall_micros": 4_500_000}, stopped_s=2.5, delayed_s=1.0),
    ]
    half = half_figures("fixed", REPORT, SECONDS, samples, [])
    assert half.stalled_fraction == pytest.approx(4.0 / 8)
    assert half.stopped_fraction == pytest.approx(2.0 / 8)
    assert half.delayed_fraction == pytest.approx(1.0 / 8)
    assert (half.writes_per_s, half.worst_second_writes_per_s) == (1000.0, 900.0)


def test_samples_of_the_databases_close_do_not_dilute_the_shares() -> None:
    samples = [sample(second, stopped_s=second / 2) for second in range(11)]
    closing = [sample(second, stopped_s=5.0) for second in range(11, 30)]
    half = half_figures("fixed", REPORT, SECONDS, samples + closing, [])
    assert half.stopped_fraction == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("seconds", "writes_by_second", "sentence"),
    [([], SECONDS, "took 0 samples"), ([0], SECONDS, "took 1 samples"), ([0, 1], [], "no single second")],
)
def test_too_little_to_say_anything_is_a_failure(
    seconds: list[int], writes_by_second: list[int], sentence: str
) -> None:
    with pytest.raises(RunFailed, match=sentence):
        half_figures("adoc", REPORT, writes_by_second, [sample(second) for second in seconds], [])


def test_an_agent_without_statistics_is_a_failure_and_not_zero_stalls() -> None:
    samples = [sample(second, counters={"writes": 1, "stall_micros": None}) for second in range(3)]
    with pytest.raises(RunFailed, match="cannot read how long writers waited"):
        half_figures("adoc", REPORT, SECONDS, samples, [])


def test_decisions_keep_their_reasons_and_count_by_rule() -> None:
    decisions = [decision(number, number * 2.0, rule) for number, rule in enumerate(["MMO", "L0O", "MMO"], 1)]
    half = half_figures("adoc", REPORT, SECONDS, [sample(0), sample(9)], decisions)
    assert half.decisions_by_rule() == {"MMO": 2, "L0O": 1}
    assert [note.after_s for note in half.decisions] == [2.0, 4.0, 6.0]
    assert half.decisions[0].reason == "2 immutable memtables wait for their flush"
    assert half.decisions[0].settings == {
        "background_jobs": 1,
        "batch_size": 128 << 20,
        "other.batch_size": 64 << 20,
    }


def test_the_json_has_every_promised_member() -> None:
    result = DemoResult(FACTS, _half(), _half("adoc", 1500.0, 0.1), ("something odd",))
    value = json.loads(json.dumps(result.as_json()))
    for half in ("fixed", "adoc"):
        promised = {"writes_per_s", "stalled_fraction", "worst_second_writes_per_s"}
        assert promised | {"stopped_fraction", "delayed_fraction", "decisions", "seconds"} <= value[half].keys()
    assert value["throughput_ratio"] == 1.5
    assert value["stall_reduction"] == 0.75
    assert value["on"] == "db_bench"
    assert value["profile"] == "cap-210"
    assert value["rocksdb_version"] == "7.8.3"
    assert value["warnings"] == ["something odd"]


def test_without_a_stall_to_reduce_there_is_no_reduction() -> None:
    assert DemoResult(FACTS, _half(stalled=0.0), _half("adoc")).as_json()["stall_reduction"] is None


def test_a_law_that_makes_it_worse_is_shown_as_such() -> None:
    result = DemoResult(FACTS, _half(stalled=0.1), _half("adoc", 500.0, 0.3))
    assert result.throughput_ratio == 0.5
    assert result.stall_reduction == pytest.approx(-2.0)


@given(
    st.floats(min_value=1, max_value=1e7),
    st.floats(min_value=1, max_value=1e7),
    st.floats(min_value=1e-3, max_value=1),
    st.floats(min_value=0, max_value=1),
)
def test_ratio_and_reduction_are_those_of_the_halves(rate: float, rate2: float, share: float, share2: float) -> None:
    result = DemoResult(FACTS, _half("fixed", rate, share), _half("adoc", rate2, share2))
    assert result.throughput_ratio == pytest.approx(rate2 / rate)
    assert result.stall_reduction is not None
    assert share * (1 - result.stall_reduction) == pytest.approx(share2, abs=1e-9)
    json.dumps(result.as_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("ticked", "agrees"),
    [
        (10_000, True),
        (9_000, True),  # one second of writes after the last sample
        (10_190, True),
        (8_500, False),
        (10_300, False),
    ],
)
def test_two_counts_of_the_same_writes_must_agree(ticked: int, agrees: bool) -> None:
    samples = [sample(0), sample(9, counters={"writes": ticked, "stall_micros": 0})]
    warning = disagreement(REPORT, [1000], samples)
    assert (warning is None) == agrees
    if warning:
        assert str(ticked) in warning


def test_a_daemon_that_got_little_of_the_processors_saw_less_of_the_end() -> None:
    """Its last sample is three seconds older than the last write."""
    samples = [sample(0), sample(7, counters={"writes": 7_000, "stall_micros": 0})]
    assert disagreement(REPORT, [1000], samples) is None
    assert disagreement(REPORT, [900], samples) is not None
