"""docs/metrics.md has every metric, as /metrics itself puts it."""

from tests.conftest import REPOSITORY
from tests.docs.metrics import rows


def test_every_metric_is_in_the_table() -> None:
    lines = (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("|")] == list(rows()), "python -m tests.docs.metrics prints it"


def test_names_follow_prometheus() -> None:
    """What promtool's linter asks for, and base units alone (tests/examples/test_prometheus.py has promtool itself)."""
    metrics = list(rows())[2:]
    assert metrics
    for row in metrics:
        _, name, kind, _, text, _ = (word.strip(" `") for word in row.split("|"))
        assert name.startswith("adocd_")
        assert (kind == "counter") == name.endswith("_total")
        assert text
        assert not any(unit in name.split("_") for unit in ("ms", "micros", "millis", "kb", "mb", "percent", "minutes"))
