"""What REST makes of a sample."""

from __future__ import annotations

from dataclasses import replace

from adocd.api.rest.samples import SamplesView
from tests.builders import column_family, sample


def test_what_nobody_reports_is_null() -> None:
    told = column_family("told", l0_files=3)
    untold = replace(column_family("untold"), unknown=("memtables_bytes", "pending_compaction_bytes"))
    shown = SamplesView(samples=[sample(told, untold)]).model_dump(mode="json")["samples"][0]["column_families"]
    assert [(cf["l0_files"], cf["pending_compaction_bytes"]) for cf in shown] == [(3, 0), (0, None)]
    assert [cf["memtables_bytes"] is None for cf in shown] == [False, True]


def test_the_schema_is_the_samples() -> None:
    schema = SamplesView.model_json_schema(mode="serialization")
    assert {"Sample", "ColumnFamilySample"} <= schema["$defs"].keys()
