"""Labels come from paths as Kafka Streams and Flink make them, and from no others."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.model.labels import LABELS, labels_of

JOB, OPERATOR_ID = "127b2b84f80b368b8edfe02b2762d10d", "0d49016af99997646695a030f69aa7ee"
UUID = "65b50444-5857-4940-9f8c-77326cc79279"
FLINK = f"job_{JOB}_op_KeyedProcessOperator_{OPERATOR_ID}__2_4__uuid_{UUID}"

#: What Kafka allows in the names of applications and stores.
NAMES = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=249).filter(
    lambda name: name not in (".", "..", "rocksdb") and not (name.startswith("__") and name.endswith("__"))
)
TASKS = st.builds("{}_{}".format, st.integers(0, 999), st.integers(0, 999_999))
#: What stands above: anything that a file system allows.
ROOTS = st.lists(
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20), max_size=5
).map(lambda parts: "".join(f"/{part}" for part in parts))
HEX32 = st.text("0123456789abcdef", min_size=32, max_size=32)


@pytest.mark.parametrize(
    ("path", "labels"),
    [
        # Made by Kafka Streams 3.9.1 and 4.1.0: a key-value, a versioned, a window, a session and a global store.
        ("/tmp/state/orders/0_0/rocksdb/balances", {"application": "orders", "task": "0_0", "store": "balances"}),
        ("/tmp/state/orders/0_0/rocksdb/versions", {"application": "orders", "task": "0_0", "store": "versions"}),
        (
            "/tmp/state/orders/0_0/per.hour/per.hour.1800000600000",
            {"application": "orders", "task": "0_0", "store": "per.hour", "segment": "1800000600000"},
        ),
        (
            "/tmp/state/orders/0_0/sessions/sessions.1800000600000",
            {"application": "orders", "task": "0_0", "store": "sessions", "segment": "1800000600000"},
        ),
        ("/tmp/state/orders/global/rocksdb/rates", {"application": "orders", "task": "global", "store": "rates"}),
        # As its sources have them.
        (
            "/state/orders/__eu__/1_12/rocksdb/balances",
            {"application": "orders", "task": "eu__1_12", "store": "balances"},
        ),
        ("/s/o/0_3/w/w:1800000600000", {"application": "o", "task": "0_3", "store": "w", "segment": "1800000600000"}),
        ("/s/o/0_3/w/w-202701150910", {"application": "o", "task": "0_3", "store": "w", "segment": "202701150910"}),
        ("/s/o/0_3/rocksdb/db", {"application": "o", "task": "0_3", "store": "db"}),
        # Flink, whatever is above it.
        *(
            (
                f"{above}{FLINK}/db",
                {"job": JOB, "operator": "KeyedProcessOperator", "operator_id": OPERATOR_ID, "subtask": "2/4"},
            )
            for above in ("", "/tmp/", "/tmp/tm_localhost:6122-ab/tmp/", "/data/flink-io-1/")
        ),
        (
            f"/t/job_{JOB}_op__{OPERATOR_ID}__1_1__uuid_{UUID}/db",  # the operator's class is anonymous
            {"job": JOB, "operator_id": OPERATOR_ID, "subtask": "1/1"},
        ),
    ],
)
def test_paths_as_they_are(path: str, labels: dict[str, str]) -> None:
    assert labels_of(path) == labels
    assert set(labels) <= set(LABELS)
    assert list(labels_of(path)) == [name for name in LABELS if name in labels], "in the order in which they are shown"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "db",
        "/var/lib/mysql/#rocksdb",
        "/var/lib/kvrocks/db",
        "/0_0/rocksdb/store",
        "/orders/0_0/store",
        "/orders/0_0/rocksdb/",
        "/orders/0_0/rocksdb/store/",
        "/orders/0_0/rocksdb/store/deeper",
        "/orders/0_0/rocksdb/with space",
        "/orders/0_0/rocksdb/line\nbreak",
        "/orders/0_0/rocksdb/store\n",
        "/orders\n/0_0/rocksdb/store",
        "/orders/0_0/rocksdb/..",
        "/../0_0/rocksdb/store",
        "/orders/0_00/rocksdb/store",
        "/backups/2026_11/rocksdb/store",
        "/orders/0_0_0/rocksdb/store",
        "/orders/0_٣/rocksdb/store",  # a digit elsewhere
        "/orders/0_0/RocksDB/store",
        "/orders/0_0/store/other.1800000600000",
        "/orders/0_0/store/store",
        "/orders/0_0/store/store.x",
        "/orders/0_0/store/store.-1",
        "/orders/0_0/store/store-1800000600000",
        "/orders/0_0/store/store.1800000600000\n",
        "/orders/global/store",
        f"/t/{FLINK}",
        f"/t/{FLINK}/db/",
        f"/t/{FLINK}/db2",
        f"/t/{FLINK}\n/db",
        f"/t/x{FLINK}/db",
        f"/t/{FLINK}".replace("__2_4__", "__5_4__") + "/db",
        f"/t/{FLINK}".replace("__2_4__", "__0_4__") + "/db",
        f"/t/{FLINK}".replace(JOB, JOB.upper()) + "/db",
        f"/t/{FLINK}".replace("Keyed", "Käyed") + "/db",
    ],
)
def test_other_programs_databases_have_none(path: str) -> None:
    assert labels_of(path) == {}


@given(ROOTS, NAMES, TASKS, NAMES)
def test_a_store_is_told_again(root: str, application: str, task: str, store: str) -> None:
    expected = {"application": application, "task": task, "store": store}
    assert labels_of(f"{root}/{application}/{task}/rocksdb/{store}") == expected
    everywhere = {**expected, "task": "global"}
    assert labels_of(f"{root}/{application}/global/rocksdb/{store}") == everywhere


@given(ROOTS, NAMES, TASKS, NAMES, NAMES, st.integers(0, 2**63 - 1))
def test_a_segment_of_a_topology_is_told_again(
    root: str, application: str, task: str, topology: str, store: str, segment: int
) -> None:
    path = f"{root}/{application}/__{topology}__/{task}/{store}/{store}.{segment}"
    assert labels_of(path) == {
        "application": application, "task": f"{topology}__{task}", "store": store, "segment": str(segment),
    }  # fmt: skip


@given(ROOTS, HEX32, st.from_regex(r"[A-Za-z0-9_-]{1,160}", fullmatch=True), HEX32, st.integers(1, 999), st.uuids())
def test_an_operator_is_told_again(
    root: str, job: str, operator: str, operator_id: str, parallelism: int, uuid: object
) -> None:
    for index in (1, parallelism):
        path = f"{root}/job_{job}_op_{operator}_{operator_id}__{index}_{parallelism}__uuid_{uuid}/db"
        assert labels_of(path) == {
            "job": job, "operator": operator, "operator_id": operator_id, "subtask": f"{index}/{parallelism}",
        }  # fmt: skip


#: Pieces of the paths that have labels, and what spoils them.
PIECES = st.sampled_from(
    ["", "/", "orders", "0_0", "global", "rocksdb", "store", "store.1", "__eu__", FLINK, "db", "\n", "\x1b[31m", "..",
     "é", "\udcff", " ", "*", "%2F"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=9), st.sampled_from(["/", ""]))
def test_values_are_plain_whatever_the_path_has(pieces: list[str], between: str) -> None:
    """They are shown by terminals, pages and metrics, and matched by patterns."""
    path = between.join(pieces)
    for value in labels_of(path).values():
        assert value
        assert set(value) <= set(string.ascii_letters + string.digits + "._-/")
        assert all(part in path for part in value.replace("/", "_").split("__"))


@given(st.text(max_size=200))
def test_any_text_is_a_path(text: str) -> None:
    assert set(labels_of(text)) <= set(LABELS)
