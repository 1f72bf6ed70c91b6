"""Which two runs of a repetition are a pair, and what a block says of those that are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from adocd_bench.evaluation.raw import DeviceBytes, RawRun
from adocd_bench.evaluation.report.pairs import unlike
from adocd_bench.evaluation.report.sections import document
from adocd_bench.evaluation.report.sections_block import block_parts
from adocd_bench.evaluation.report.sections_notes import notes
from adocd_bench.evaluation.report.summary import Block, SchemeSummary, compared, summarise
from adocd_bench.evaluation.report.twins import twins

from tests.bench.evaluation.report.builders import block, run

DEFAULT, ADOC = (1000, 1010, 990, 1000, 1005), (1500, 1510, 1490, 1500, 1505)


def on(each: RawRun, **machine: Any) -> RawRun:
    return replace(each, machine=replace(each.machine, **machine))


def only(runs: list[RawRun]) -> Block:
    (found,) = summarise(runs)
    return found


def schemes(found: Block) -> tuple[SchemeSummary, SchemeSummary]:
    adoc, default = found.scheme("adoc"), found.scheme("default")
    assert adoc is not None
    assert default is not None
    return adoc, default


def with_adoc(*repetitions: int, **machine: Any) -> list[RawRun]:
    """A block in which these repetitions of adoc were made on another machine."""
    return [
        on(each, **machine) if each.scheme.name == "adoc" and each.repetition in repetitions else each
        for each in block({"default": DEFAULT, "adoc": ADOC})
    ]


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ({}, {}, None),
        ({"memory_bytes": 1, "device": "sdb"}, {}, None),
        ({"cpu_model": "another"}, {}, "different processors"),
        ({"cpus": 4}, {}, "different processors"),
        ({"kernel": "6.2.0"}, {}, "different kernels"),
        ({"code": "a"}, {"code": "b"}, "different code"),
        ({"code": "a"}, {"code": "a"}, None),
        ({"code": "a"}, {}, None),
        ({"rocksdb_version": "9.1.0"}, {}, "different programs"),
        ({"program_version": "db_bench 9.1.0"}, {}, "different programs"),
        ({"program_hash": "a"}, {"program_hash": "b"}, "different programs"),
        ({"program_hash": "a"}, {"program_hash": "a"}, None),
        ({"program_hash": "a"}, {}, None),
    ],
)
def test_what_makes_a_pair(one: dict[str, Any], other: dict[str, Any], why: str | None) -> None:
    for mine, others in ((one, other), (other, one)):
        assert unlike(on(run("adoc"), **mine), on(run("default"), **others)) == why


@pytest.mark.parametrize("machine", [{"cpu_model": "another"}, {"kernel": "6.2.0"}])
def test_runs_of_two_machines_are_no_pair(machine: dict[str, Any]) -> None:
    """Five pairs of which one was made on a faster machine gave a verdict."""
    assert compared("throughput_per_s", *schemes(only(with_adoc()))).difference == "more"
    found = compared("throughput_per_s", *schemes(only(with_adoc(2, **machine))))
    assert (found.pairs, found.difference) == (4, "direction more")
    assert found.ratio is not None
    assert found.ratio.count == 4, "nor is there a ratio of them"
    none = compared("throughput_per_s", *schemes(only(with_adoc(1, 2, 3, 4, 5, **machine))))
    assert (none.pairs, none.difference, none.ratio) == (0, "too few", None)
    whole = [on(each, **machine) if each.repetition == 2 else each for each in with_adoc()]
    assert compared("throughput_per_s", *schemes(only(whole))).pairs == 5, "a repetition on another machine is one"


def test_runs_on_devices_of_different_size_are_no_pair() -> None:
    """A plan that was continued with a longer load made larger devices, and laws take a share of the free space."""

    def sized(size_bytes: int | None, *, dedicated: bool = True) -> RawRun:
        device = DeviceBytes("loop0", dedicated, 1, 0, most_written_bytes_per_s=None, size_bytes=size_bytes)
        return replace(run("adoc"), device=device)

    small = sized(7_000_000_000)
    assert unlike(small, sized(14_000_000_000)) == unlike(sized(14_000_000_000), small) == "devices of different size"
    assert unlike(small, sized(7_000_000_512)) is None
    assert unlike(small, sized(None)) is unlike(small, run("adoc")) is None, "of the other it is not known"
    assert unlike(small, sized(900_000_000_000, dedicated=False)) is None, "the disk is not the run's own"


def test_runs_of_two_versions_of_the_code_are_no_pair_where_both_are_known() -> None:
    known = [on(each, code="a") for each in with_adoc()]
    assert compared("throughput_per_s", *schemes(only(known))).pairs == 5
    half = [on(each, code="a") if each.scheme.name == "adoc" else each for each in with_adoc()]
    assert compared("throughput_per_s", *schemes(only(half))).pairs == 5, "of the others it is not known"
    other = [on(each, code="b") if (each.scheme.name, each.repetition) == ("adoc", 4) else each for each in known]
    assert compared("throughput_per_s", *schemes(only(other))).pairs == 4


def test_all_versions_are_named() -> None:
    runs = [run("default", n) for n in (1, 2)]
    newer = replace(runs[1].machine, adocd_version="0.2.0", rocksdb_version="9.1.0", program_version="db_bench 9.1.0")
    text = str(document(summarise([runs[0], replace(runs[1], machine=newer)]), (), {}, ()))
    assert "adocd 0.1.0, 0.2.0, RocksDB 7.8.3, 9.1.0, db_bench 7.8.3, db_bench 9.1.0." in text


def test_a_scheme_against_itself_is_compared_in_pairs_alone() -> None:
    runs = [
        replace(each, scheme=replace(each.scheme, policy="fixed"))
        for each in block({"default": (*DEFAULT, 1000), "default-again": (1001, 1011, 991, 1001, 1000, 1001)})
    ]
    runs[0] = on(runs[0], kernel="6.2.0")
    ((_, told),) = twins(only(runs))
    assert {each.all_pairs.pairs for each in told} == {5}


def test_the_block_says_how_many_are_no_pairs_and_why() -> None:
    assert list(notes(only(with_adoc()))) == []
    runs = [on(each, code="a") if each.repetition == 4 else each for each in with_adoc(2, 3, kernel="6.2.0")]
    runs = [on(each, code="b") if (each.scheme.name, each.repetition) == ("adoc", 4) else each for each in runs]
    found = only(runs)
    (said,) = notes(found)
    assert said == (
        "3 of its 5 pairs (two schemes in one repetition) count in no ratio and no verdict: 1 of different code, 2 of "
        "different kernels."
    )
    assert said in str(block_parts(found))


def test_the_block_says_how_many_pairs_are_far_apart_and_how_far() -> None:
    def later(hours: float, *repetitions: int) -> list[RawRun]:
        return [
            replace(each, started_unix_s=each.started_unix_s + 3600 * hours)
            if each.scheme.name == "adoc" and each.repetition in repetitions
            else each
            for each in with_adoc()
        ]

    assert list(notes(only(later(1.0, 1, 2)))) == []
    found = only([*later(26.0, 2, 5)])
    assert list(notes(found)) == [
        "In 2 of its 5 pairs the runs began more than an hour apart, at most 26 h; they count."
    ]
    assert compared("throughput_per_s", *schemes(found)).pairs == 5
