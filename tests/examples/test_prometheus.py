"""Scrape configuration, alerts and dashboard, on a real Prometheus and a real database; and the alerts' runbook."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.cli.harness import command, log_of, no_traceback, serving
from tests.conftest import REPOSITORY
from tests.examples.prometheus import Prometheus, prometheus
from tests.examples.running import attached, started
from tests.support.waiting import eventually

EXAMPLES = REPOSITORY / "examples" / "prometheus"
RULES = EXAMPLES / "adocd.rules.yml"
ALERTS = {rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}
DASHBOARD = json.loads((REPOSITORY / "examples" / "grafana" / "adocd.json").read_text())
RUNBOOK = (REPOSITORY / "docs" / "runbook.md").read_text()
#: Has no value but while something is the matter, or until something has been done.
SILENT_WHEN_WELL = (
    "adocd_stall_in_progress",
    "adocd_write_stalls_total",
    "adocd_decisions_total",
    "adocd_knob_reversals_total",
    "adocd_override_",
    "adocd_actuation_seconds_bucket",
    "adocd_rate_limit_bytes_per_second",
    "adocd_event_clients",
)
#: Of devices nothing is known where a container hides them.
MAY_BE_UNKNOWN = ("adocd_device_",)


def promtool(*arguments: str | Path, given: str | None = None) -> str:
    done = subprocess.run(
        ["promtool", *map(str, arguments)], input=given, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_files_are_valid_and_each_alert_is_raised_when_it_should_be() -> None:
    assert ALERTS
    assert f"{len(ALERTS)} rules found" in promtool("check", "rules", RULES)
    promtool("check", "config", EXAMPLES / "prometheus.yml")
    # It takes long, for a pause is long after a day. What the list of examples says is run, by tests/docs.
    assert (
        "\npromtool test rules examples/prometheus/adocd.rules.test.yml\n"
        in (EXAMPLES.parent / "README.md").read_text()
    )
    cases = yaml.safe_load((EXAMPLES / "adocd.rules.test.yml").read_text())["tests"]
    tested = [(rule["alertname"], bool(rule["exp_alerts"])) for case in cases for rule in case["alert_rule_test"]]
    assert set(tested) == {(name, raised) for name in ALERTS for raised in (True, False)}


def test_each_alert_has_its_paragraph_in_the_runbook() -> None:
    headings = re.findall(r"^### (\w+)$", RUNBOOK, re.MULTILINE)
    assert headings == list(ALERTS), "one each, in the order of the rules"
    for name, rule in ALERTS.items():
        assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{name.lower()}"
        paragraph = RUNBOOK.partition(f"### {name}\n")[2].partition("\n#")[0]
        for word in ("**Means.**", "**See.**", "**Do.**"):
            assert word in paragraph, f"{name} has no {word}"


def expressions(dashboard: Any) -> Iterator[tuple[str, str]]:
    """Give each panel's title with each of its expressions, as Grafana fills them in."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], filled(target["expr"])
    for annotation in dashboard["annotations"]["list"]:
        yield annotation["name"], filled(annotation["expr"])


def filled(expression: str) -> str:
    return expression.replace("$path", ".*").replace("$__rate_interval", "1m")


def test_the_dashboard_is_whole() -> None:
    panels = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] != "row"]
    assert panels
    assert set(panels) < {title for title, _ in expressions(DASHBOARD)}, "each is asked of Prometheus, and annotations"
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    covered = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(covered) == len(set(covered)) > 0, "no panel lies on another"
    assert all(p["gridPos"]["x"] + p["gridPos"]["w"] <= 24 for p in DASHBOARD["panels"])
    for panel in DASHBOARD["panels"]:
        assert panel["type"] == "row" or panel["targets"], panel["title"]


@contextlib.contextmanager
def scraped(run_dir: Path, port: int) -> Iterator[Prometheus]:
    """Run Prometheus by the example's configuration, with this port in it, and every 2 s."""
    config = (EXAMPLES / "prometheus.yml").read_text()
    assert config.count("127.0.0.1:9631") == 1
    config = config.replace("127.0.0.1:9631", f"127.0.0.1:{port}").replace("interval: 15s", "interval: 2s")
    config = config.replace("scrape_timeout: 10s", "scrape_timeout: 2s")
    (run_dir / "prometheus.yml").write_text(config)
    (run_dir / RULES.name).write_text(RULES.read_text())
    with prometheus(run_dir / "prometheus.yml", run_dir) as running:
        yield running


def writes(database: Path) -> list[str]:
    """Give the command of a program that writes as much as there is to see, and leaves processors to the others."""
    return [
        "adocd", "exec", "--", "db_bench", "--benchmarks=fillrandom", f"--db={database}", "--duration=120",
        "--num=2000000", "--value_size=1000", "--compression_type=none", "--write_buffer_size=1048576",
        "--benchmark_write_rate_limit=5000000",
    ]  # fmt: skip


def test_a_real_prometheus_scrapes_a_real_database(run_dir: Path, native_agent_library: Path) -> None:
    del native_agent_library
    with (
        serving(run_dir, "--port", "0"),
        started(writes(run_dir / "db"), run_dir) as program,
        scraped(run_dir, port_of(run_dir)) as running,
    ):
        target = attached(program, run_dir)
        eventually(running.targets_up, every_s=0.2, what="the daemon is scraped")
        written = f'rate(adocd_writes_total{{path="{target["path"]}"}}[20s]) > 0'
        eventually(lambda: running.query(written), every_s=0.2, what="its writes are counted")
        eventually(lambda: "unknown" not in health(running), every_s=0.2, what="all rules were evaluated")
        assert health(running) == {"ok"}
        for rule in ALERTS.values():
            running.query(rule["expr"])
        for title, expression in expressions(DASHBOARD):
            series = running.query(expression)
            excused = any(word in expression for word in (*SILENT_WHEN_WELL, *MAY_BE_UNKNOWN))
            if not series and not excused:  # as after a scrape that a busy machine has made too late
                eventually(functools.partial(running.query, expression), every_s=0.5, what=f"{title} has data")
        known = set(running.get("label/__name__/values"))
        for source in (*(rule["expr"] for rule in ALERTS.values()), *(e for _, e in expressions(DASHBOARD))):
            for name in set(re.findall(r"\badocd_\w+", source)) - known:
                assert name.startswith((*SILENT_WHEN_WELL, *MAY_BE_UNKNOWN)), f"{name} is nothing that is measured"
        # Before the law's own: a pin that comes in the same step as a decision is counted with that.
        command("adocctl", "override", "set", "max_background_jobs=3", target["path"], run_dir=run_dir).ok()
        ours = 'adocd_decisions_total{rule="operator.override"} and on (target) adocd_actuation_seconds_count > 0'
        eventually(lambda: running.query(ours), every_s=0.2, what="what was done is counted")
        command("adocctl", "set-policy", "adoc", run_dir=run_dir).ok()
        eventually(lambda: running.query("adocd_override_expiry_timestamp_seconds > time()"), every_s=0.2)
        promtool("check", "metrics", given=metrics(port_of(run_dir)))
    no_traceback(run_dir)


def health(running: Prometheus) -> set[str]:
    return {rule["health"] for group in running.get("rules")["groups"] for rule in group["rules"]}


def port_of(run_dir: Path) -> int:
    (line,) = [line for line in log_of(run_dir).splitlines() if "http://127.0.0.1:" in line]
    return int(line.rpartition(":")[2])


def metrics(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        return str(answer.read().decode())
