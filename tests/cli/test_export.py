"""`adocctl export`: what is kept, what not and why; and that RocksDB takes what it writes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from adocd.cli import show_export
from adocd.cli.exported import Exported, Kept, exported
from adocd.model.options import OUT_OF_THE_WAY
from tests.cli.harness import command, wait_for_target
from tests.cli.harness import quickly_serving as serving
from tests.cli.test_adocctl import batch
from tests.daemon.harness import overflowing
from tests.support.fake_agent import FakeAgent
from tests.support.waiting import eventually

MIB = 1 << 20
ORIGINALS = {
    "write_buffer_size": str(64 * MIB), "disable_auto_compactions": "false", "level0_stop_writes_trigger": "36",
    "soft_pending_compaction_bytes_limit": "68719476736",
}  # fmt: skip


def detail(database: dict[str, str] | None = None, **families: dict[str, str]) -> dict[str, Any]:
    def values(database: dict[str, str], families: dict[str, dict[str, str]]) -> dict[str, Any]:
        return {
            "database": {"max_background_jobs": "2", "delayed_write_rate": "16777216"} | database,
            "column_families": {name: ORIGINALS | given for name, given in families.items()},
            "rate_limiter_bytes_per_s": None, "thread_pools": {"low": 2},
        }  # fmt: skip

    return {
        "path": "/db", "id": "ed765b", "state": "attached", "process": {"rocksdb_version": "7.8.3"},
        "policy": {"controller": "adoc"}, "sample": {"condition": "normal"}, "stall": None, "restore": None,
        "options": values(database or {}, families), "originals": values({}, {name: {} for name in families}),
    }  # fmt: skip


def pin(who: str, ineffective: str | None = None) -> dict[str, Any]:
    return {"option": "write_buffer_size", "column_family": None, "who": who, "ineffective": ineffective}


def test_a_value_is_named_after_the_strongest_pin_that_is_in_force() -> None:
    """REST lists the weakest pin first."""
    pins = [pin("alice"), pin("bob"), pin("carol", ineffective="a guard refuses it")]
    found = exported(detail(default={"write_buffer_size": str(128 * MIB)}), pins)
    assert found.column_families["default"]["write_buffer_size"].pinned_by == "bob"


def test_what_is_worth_keeping() -> None:
    found = exported(
        detail({"max_background_jobs": "6"}, default={"write_buffer_size": str(128 * MIB)}, cold={}),
        [pin("alice")],
    )
    assert {name: (kept.value, kept.original) for name, kept in found.database.items()} == {
        "max_background_jobs": ("6", "2")
    }
    assert found.column_families["default"]["write_buffer_size"].pinned_by == "alice"
    assert list(found.column_families) == ["default"]
    assert (found.left_out, found.held, found.unseen) == ((), None, None)


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("disable_auto_compactions", "true", "exported, it would stay off"),
        ("level0_stop_writes_trigger", str(OUT_OF_THE_WAY), "may be this high only while adocd watches level 0"),
        ("soft_pending_compaction_bytes_limit", "0", "off only while adocd watches"),
    ],
)
def test_measures_of_the_moment_are_left_out_and_told(option: str, value: str, why: str) -> None:
    found = exported(detail(default={option: value}), [])
    assert found.column_families == {}
    (sentence,) = found.left_out
    assert sentence.startswith(f"{option} of column family default = {value} (originally {ORIGINALS[option]})")
    assert why in sentence


def test_what_no_options_file_has_is_told() -> None:
    now = detail({"delayed_write_rate": "1048576"}, default={})
    now["options"] |= {"rate_limiter_bytes_per_s": 100_000_000, "thread_pools": {"low": 6}}
    told = "; ".join(exported(now, []).left_out)
    for words in ("delayed_write_rate", "the rate limiter's 100000000 bytes/s", "the thread pool low of 6"):
        assert words in told


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"state": "closed"}, "is closed"),
        ({"options": None}, "has not reported its options yet"),
        ({"restore": {"state": "waiting", "steps_left": 3, "waiting_for": "L0 files"}}, "is being restored"),
    ],
)
def test_where_nothing_is_seen(members: dict[str, Any], why: str) -> None:
    assert why in (exported(detail(default={}) | members, []).unseen or "")


def test_a_stall_is_no_time_to_export() -> None:
    now = detail(default={"write_buffer_size": "1"}) | {"stall": {"condition": "stopped"}}
    assert exported(now, []).held == "stopped"


# -- what RocksDB makes of it


def opened_with(fragment: str, place: Path) -> str:
    """Open a new database with these options by db_bench, and read the OPTIONS file that RocksDB writes."""
    place.mkdir()
    (place / "fragment.ini").write_text(fragment)
    done = subprocess.run(
        ["db_bench", "--benchmarks=fillseq", "--num=10", f"--db={place}/db", f"--options_file={place}/fragment.ini"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return max((place / "db").glob("OPTIONS-*"), key=lambda each: each.name).read_text()


@pytest.mark.skipif(shutil.which("db_bench") is None, reason="needs db_bench; apt-get install rocksdb-tools")
def test_rocksdb_opens_a_database_with_it(run_dir: Path) -> None:
    found = exported(
        detail(
            {"max_background_jobs": "6"},
            default={"write_buffer_size": str(96 * MIB), "level0_stop_writes_trigger": "50"},
        ),
        [pin("alice")],
    )
    written = opened_with(show_export.as_options(found), run_dir / "options").splitlines()
    for line in ("max_background_jobs=6", f"write_buffer_size={96 * MIB}", "level0_stop_writes_trigger=50"):
        assert f"  {line}" in written


@pytest.mark.skipif(shutil.which("db_bench") is None, reason="needs db_bench; apt-get install rocksdb-tools")
def test_rocksdb_reads_a_column_familys_name_as_it_is(run_dir: Path) -> None:
    """db_bench opens one column family alone, so it is enough here that the parser comes past the others."""
    name = r"a #b: \c"
    found = exported(detail(default={}, **{name: {"write_buffer_size": str(96 * MIB)}}), [])
    fragment = show_export.as_options(found)
    assert r'[CFOptions "a \#b\: \\c"]' in fragment
    assert "max_background_jobs=" in opened_with(fragment, run_dir / "names")


def test_flags_go_by_db_benchs_names() -> None:
    found = Exported("/db", "ed765b", "7.8.3", "adoc", database={"max_subcompactions": Kept("2", "1")})
    assert show_export.as_flags(found) == "--subcompactions=2"


# -- from the terminal


def test_export_from_the_terminal(run_dir: Path) -> None:
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]), serving(run_dir):
        wait_for_target(run_dir)
        command("adocctl", "export", run_dir=run_dir).failed(
            1, "nothing to export", "has the same options as when it was opened"
        )
        command("adocctl", "export", "--format", "xml", run_dir=run_dir).failed(2, "options, sh, json, not 'xml'")
        command("adocctl", "set-policy", "adoc", "--set", "batch_max_bytes=134217728", run_dir=run_dir).ok()
        eventually(lambda: batch(database) == str(128 * MIB), what="it is tuned")
        tuned = f"write_buffer_size={128 * MIB}"
        eventually(lambda: tuned in command("adocctl", "export", run_dir=run_dir).out, what="it is seen")
        fragment = command("adocctl", "export", run_dir=run_dir).ok()
        assert '[CFOptions "default"]' in fragment
        assert f"  {tuned}  # was {64 * MIB}" in fragment
        assert f"--{tuned}" in command("adocctl", "export", "--format", "sh", run_dir=run_dir).ok().split()
        for arguments in (("--json",), ("--format", "json")):
            content = json.loads(command("adocctl", "export", *arguments, run_dir=run_dir).ok())
            assert content["column_families"]["default"]["write_buffer_size"]["value"] == str(128 * MIB)
