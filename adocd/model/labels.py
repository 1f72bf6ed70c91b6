"""Labels of a database, read from its path: what Kafka Streams and Flink call the part that it belongs to. Pure.

Kafka Streams 3.9 and 4.1 (StateDirectory, RocksDBStore.DB_FILE_DIR, AbstractSegments, TaskId):

    <application.id>/<task>/rocksdb/<store>
    <application.id>/<task>/<store>/<store>.<segment>    window and session stores; older ones have : or -
    <application.id>/__<topology>__/<task>/...           a named topology; its task is topology__0_3
    <application.id>/global/rocksdb/<store>              a global store; its task is global

Flink 1.20 (EmbeddedRocksDBStateBackend, OperatorSubtaskDescriptionText), whatever is above it:

    job_<job>_op_<operator>_<operator_id>__<subtask>_<parallelism>__uuid_<uuid>/db

A path that does not fit one of these in every part has no labels.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

#: All labels, in the order in which they are shown: those of Kafka Streams first.
LABELS = ("application", "task", "store", "segment", "job", "operator", "operator_id", "subtask")

_NONE: Mapping[str, str] = MappingProxyType({})
#: What the names of topics may have (org.apache.kafka.common.internals.Topic): those of stores and applications become
#: part of a changelog topic's name.
_NAME = re.compile(r"(?!\.\.?$)[a-zA-Z0-9._-]{1,249}")
_TOPOLOGY = re.compile(r"__([a-zA-Z0-9._-]{1,249})__")
#: Number of the subtopology and of the partition, without leading zeros. An application has some tens of subtopologies;
#: with four digits, directories such as 2026_11 would count.
_TASK = re.compile(r"(0|[1-9][0-9]{0,2})_(0|[1-9][0-9]{0,5})")
_GLOBAL = "global"
#: Its first millisecond since the epoch; in very old stores a time, yyyyMMddHHmm.
_SEGMENT = re.compile(r"[.:](0|[1-9][0-9]{0,18})|-([0-9]{12})")
_HEX32 = "[0-9a-f]{32}"
_FLINK = re.compile(
    rf"job_(?P<job>{_HEX32})_op_(?P<operator>[a-zA-Z0-9_-]{{0,160}})_(?P<operator_id>{_HEX32})"
    r"__(?P<index>[1-9][0-9]{0,5})_(?P<parallelism>[1-9][0-9]{0,5})_"
    r"_uuid_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)


def labels_of(path: str) -> Mapping[str, str]:
    """Return the labels of the database at this path, in the order of LABELS; none for other programs' databases.

    Their values have only ASCII letters, digits and the characters ``._-/``, whatever the path has.
    """
    parts = path.split("/")
    if len(parts) > 1 and parts[-1] == "db" and (found := _of_flink(parts[-2])):
        return found
    return _NONE if len(parts) < 4 else _of_kafka_streams(parts)


def _of_kafka_streams(parts: list[str]) -> Mapping[str, str]:
    *above, task, parent, last = parts
    if parent == "rocksdb":
        store, segment = last, None
    else:
        store, segment = parent, _segment(parent, last)
        if segment is None:
            return _NONE
    if _NAME.fullmatch(store) is None:
        return _NONE
    if task != _GLOBAL and _TASK.fullmatch(task) is None:
        return _NONE
    if len(above) > 1 and task != _GLOBAL and (topology := _TOPOLOGY.fullmatch(above[-1])) is not None:
        task = f"{topology[1]}__{task}"
        above.pop()
    if not above or _NAME.fullmatch(above[-1]) is None:
        return _NONE
    found = {"application": above[-1], "task": task, "store": store}
    return found if segment is None else found | {"segment": segment}


def _segment(store: str, directory: str) -> str | None:
    if not directory.startswith(store) or (found := _SEGMENT.fullmatch(directory, len(store))) is None:
        return None
    return str(found[1] or found[2])


def _of_flink(directory: str) -> Mapping[str, str]:
    found = _FLINK.fullmatch(directory)
    if found is None or int(found["index"]) > int(found["parallelism"]):
        return _NONE
    # The class of an anonymous operator has no name.
    operator = {"operator": found["operator"]} if found["operator"] else {}
    return {
        "job": found["job"],
        **operator,
        "operator_id": found["operator_id"],
        "subtask": f"{found['index']}/{found['parallelism']}",
    }
