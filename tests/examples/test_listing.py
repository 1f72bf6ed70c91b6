"""examples/ is listed, and each file of it is started by a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

EXAMPLES = REPOSITORY / "examples"
FILES = sorted(
    path.relative_to(EXAMPLES)
    for path in EXAMPLES.rglob("*")
    if path.is_file() and path.name != "README.md" and not {"__pycache__", "target"} & set(path.parts)
)
#: What starts each.
STARTED_BY = {
    "adocd.toml": "test_configuration.py",
    "controller/pyproject.toml": "test_controller.py",
    "controller/steady_batch.py": "test_controller.py",
    "cpp/CMakeLists.txt": "test_cpp.py",
    "cpp/ingest.cc": "test_cpp.py",
    "db_bench/fill.sh": "test_db_bench.py",
    "flink/pom.xml": "test_flink.py",
    "flink/src/main/java/net/adocd/examples/flink/Arguments.java": "test_flink.py",
    "flink/src/main/java/net/adocd/examples/flink/Balances.java": "test_flink.py",
    "flink/src/main/java/net/adocd/examples/flink/Job.java": "test_flink.py",
    "flink/src/main/java/net/adocd/examples/flink/Payments.java": "test_flink.py",
    "flink/src/main/java/net/adocd/examples/flink/Puts.java": "test_flink.py",
    "flink/src/main/java/net/adocd/examples/flink/SlowDisk.java": "test_flink.py",
    "flink/src/main/java/net/adocd/examples/flink/Statement.java": "test_flink.py",
    "flink/src/main/resources/simplelogger.properties": "test_flink.py",
    "grafana/adocd.json": "test_prometheus.py",
    "kafka-streams/pom.xml": "test_kafka_streams.py",
    "kafka-streams/src/main/java/net/adocd/examples/orders/Application.java": "test_kafka_streams.py",
    "kafka-streams/src/main/java/net/adocd/examples/orders/Broker.java": "test_kafka_streams.py",
    "kafka-streams/src/main/java/net/adocd/examples/orders/BrokerMain.java": "test_kafka_streams.py",
    "kafka-streams/src/main/java/net/adocd/examples/orders/Meter.java": "test_kafka_streams.py",
    "kafka-streams/src/main/java/net/adocd/examples/orders/Options.java": "test_kafka_streams.py",
    "kafka-streams/src/main/java/net/adocd/examples/orders/OrderProcessor.java": "test_kafka_streams.py",
    "kafka-streams/src/main/java/net/adocd/examples/orders/OrderProducer.java": "test_kafka_streams.py",
    "kafka-streams/src/main/java/net/adocd/examples/orders/Orders.java": "test_kafka_streams.py",
    "kafka-streams/src/main/java/net/adocd/examples/orders/StoreOptions.java": "test_kafka_streams.py",
    "kafka-streams/src/main/resources/server.properties": "test_kafka_streams.py",
    "kafka-streams/src/main/resources/simplelogger.properties": "test_kafka_streams.py",
    "prometheus/adocd.rules.test.yml": "test_prometheus.py",
    "prometheus/adocd.rules.yml": "test_prometheus.py",
    "prometheus/prometheus.yml": "test_prometheus.py",
    "proxy/nginx.conf": "test_proxy.py",
    "proxy/web.toml": "test_proxy.py",
    "rocksdict/ingest.py": "test_rocksdict.py",
    "systemd/adocd.service": "test_systemd.py",
    "systemd/adocd.service.d/listen.conf": "test_systemd.py",
    "systemd/mydb.service": "test_systemd.py",
    "systemd/mydb.service.d/adocd.conf": "test_systemd.py",
}


def test_each_file_is_started_by_a_test() -> None:
    assert [str(path) for path in FILES] == sorted(STARTED_BY)
    for example, test in STARTED_BY.items():
        text = (Path(__file__).parent / test).read_text()
        named = Path(example).name if example != "cpp/ingest.cc" else "ingest"
        directory = Path(example).parts[0]
        assert f'"{directory}"' in text or named in text, f"{test} does not mention {example}"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_each_example_is_in_the_list(path: Path) -> None:
    listed = (EXAMPLES / "README.md").read_text()
    assert f"]({path})" in listed or f"]({path.parts[0]}/)" in listed
