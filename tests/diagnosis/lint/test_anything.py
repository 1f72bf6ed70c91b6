"""Whatever stands in the options: a rule may be wrong about it, but never raises, and the answer can be sent."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from adocd.diagnosis.lint.facts import Bounds, MemtableMemory
from adocd.diagnosis.lint.rules import findings
from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import ColumnFamilySnapshot, Counters, OptionValues
from adocd.probes.options_file import OptionsFile, Unreadable, parse
from tests.diagnosis.lint.databases import FILES, defaults, with_snapshot, with_version

KNOWN = sorted({*(file := parse(FILES["9.8.4"])).database, *file.column_families["default"]})
VALUE = st.one_of(
    st.text(max_size=30),
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-3, 40).map(str),
    st.sampled_from(["true", "false", "", "-", "1e7", "9" * 5000, "٣", "kCompactionStyleFIFO", "nullptr"]),
)
OPTIONS = st.dictionaries(st.one_of(st.sampled_from(KNOWN), st.text(max_size=10)), VALUE, max_size=40)
FAMILIES = st.dictionaries(st.text(max_size=5), OPTIONS, max_size=4)
BYTES = st.integers(0, 2**64)
NAMES = st.lists(st.sampled_from(["low", "high", "max_background_jobs", "write_buffer_size"])).map(tuple)


@settings(max_examples=150, deadline=None)
@given(
    options=st.builds(OptionValues, OPTIONS, FAMILIES, st.none() | BYTES, st.dictionaries(NAMES.map(str), BYTES)),
    file=st.one_of(st.builds(OptionsFile, OPTIONS, FAMILIES), st.builds(Unreadable, st.text(), st.text())),
    measured=st.dictionaries(
        st.text(max_size=5),
        st.builds(
            ColumnFamilySnapshot,
            st.dictionaries(st.sampled_from(["rocksdb.cur-size-all-mem-tables", "x"]), st.integers()),
            st.none() | st.just({}),
        ),
        max_size=3,
    ),
    counters=st.builds(Counters, st.none() | BYTES),
    capabilities=st.builds(
        Capabilities,
        NAMES,
        NAMES,
        rate_limiter=st.booleans(),
        thread_pools=NAMES,
        statistics=st.sampled_from(["none", "all", "?"]),
        responds_during_stall=st.booleans(),
    ),
    memory=st.builds(MemtableMemory, BYTES, BYTES, st.none() | BYTES),
    bounds=st.builds(Bounds, BYTES, st.integers(1, 128)),
    version=st.one_of(st.text(max_size=12), st.from_regex(r"[0-9]+\.[0-9]+\.[0-9]+", fullmatch=True)),
)
def test_never_raises(
    options: OptionValues,
    file: OptionsFile | Unreadable,
    measured: dict[str, ColumnFamilySnapshot],
    counters: Counters,
    capabilities: Capabilities,
    memory: MemtableMemory,
    bounds: Bounds,
    version: str,
) -> None:
    facts = with_version(
        with_snapshot(defaults(), options=options, column_families=measured, counters=counters), version
    )
    facts = replace(
        facts,
        detail=replace(facts.detail, capabilities=capabilities, originals=options),
        options_file=file,
        memory=memory,
        bounds=bounds,
    )
    json.dumps([asdict(finding) for finding in findings(facts)])
