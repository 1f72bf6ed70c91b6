"""The chart of writes per second."""

from adocd_bench.demo.chart import MARK, Column, columns, draw, marks
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.samples import sample


def test_a_column_a_second_shows_every_sample() -> None:
    samples = [sample(second, writes_per_s=100.0 * second) for second in range(4)]
    assert [column.writes_per_s for column in columns(samples, 6, 6)] == [0.0, 100.0, 200.0, 300.0, None, None]


def test_wide_columns_take_the_mean_and_the_worst_condition() -> None:
    conditions = ["normal", "stopped", "normal", "delayed"]
    samples = [
        sample(second, writes_per_s=100.0 * second, condition=condition) for second, condition in enumerate(conditions)
    ]
    assert columns(samples, 4, 2) == [Column(50.0, "stopped"), Column(250.0, "delayed")]


def test_a_long_interval_covers_all_its_columns() -> None:
    samples = [sample(0), sample(5, interval_s=5.0, writes_per_s=7.0, condition="stopped")]
    assert columns(samples, 6, 6)[1:] == [Column(7.0, "stopped")] * 5


def test_bars_stand_on_the_ground() -> None:
    lines = draw([Column(100.0), Column(50.0), Column(0.0), Column()], 2, 100.0)
    assert [line.plain for line in lines] == ["█   ", "██▁·"]


@given(
    st.lists(st.floats(min_value=0, max_value=1e7), max_size=80),
    st.integers(min_value=1, max_value=120),
    st.integers(min_value=1, max_value=8),
)
def test_the_picture_always_has_its_size(rates: list[float], width: int, height: int) -> None:
    samples = [sample(second, writes_per_s=rate) for second, rate in enumerate(rates)]
    lines = draw(columns(samples, 60, width), height, max(rates, default=0.0))
    assert [len(line.plain) for line in lines] == [width] * height


def test_marks_stand_under_the_sample_they_were_made_on() -> None:
    samples = [sample(second) for second in range(4)]
    bars = draw(columns(samples, 8, 8), 1, 1000.0)[0].plain
    line = marks([samples[2].monotonic_s - 0.5], samples, 8, 8)
    assert bars == "████····"
    assert line.index(MARK) == 2


def test_marks_before_and_after_the_chart_stay_on_it() -> None:
    samples = [sample(0)]
    assert marks([0.0, 1e9], samples, 8, 4) == f"{MARK}  {MARK}"
    assert marks([1.0], [], 8, 4) == "    "
