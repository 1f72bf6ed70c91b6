"""Names that steer a terminal or forge a line: none reaches it as it is, by whatever command, nor the daemon's log."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer.main

from adocd.api.changed import changed
from adocd.cli import adocctl, show_export
from adocd.cli.console import PIPE_COLUMNS
from adocd.cli.exported import Exported, Kept
from adocd.model.printable import printable
from tests.cli.harness import command, log_of, serving
from tests.daemon.harness import overflowing
from tests.support.fake_agent import FakeAgent
from tests.support.waiting import eventually

pytestmark = pytest.mark.long

FORGED = "2030-01-01 00:00:00,000 WARNING forged"
#: A title, a colour by a C1 control, text from right to left, both ends of a line and Unicode's own, what is invisible.
EVIL = f"\x1b]0;mine\x07\x9b31m\u202egpj\u2066\x85\u2028\u200b\x7f\r\n{FORGED}"
WORDS = ("\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\x85", "\u2028", "\u200b", "\x7f", "\r", f"\n{FORGED}")
#: Commands with what they are given; T stands for the target's id, F for a file that is not there.
COMMANDS: dict[str, tuple[str, ...]] = {
    "targets": (),
    "status": ("T",),
    "lint": ("T",),
    "explain": ("T",),
    "top": ("--once",),
    "doctor": (),
    "events": ("--after", "0", "-n", "3"),
    "decisions": ("T",),
    "controllers": (),
    "policy show": ("T",),
    "policy diff": ("adoc", "T"),
    "override set": ("level0_slowdown_writes_trigger=30", "T", "--column-family", f"family{EVIL}"),
    "override list": ("T",),
    "override remove": ("level0_slowdown_writes_trigger", "T", "--column-family", f"family{EVIL}"),
    "override clear": ("T",),
    "token create": ("grafana",),
    "token list": (),
    "token revoke": ("grafana",),
    "set-policy": ("adoc", "T"),
    "reset-policy": ("T",),
    "pause": ("T",),
    "resume": ("T",),
    "export": ("T",),
    "record": ("F", "T", "--seconds", "0.2"),
    "replay": ("F", "--policy", "adoc"),
    "simulate": ("--seconds", "5"),
    "restore": ("T",),
    "forget": ("T",),
    "audit": (),
}
#: Those that show a database's path or a column family's name.
SHOW = {
    "targets", "status", "lint", "explain", "top", "doctor", "events", "override set", "override list",
    "export", "record", "replay", "audit",
}  # fmt: skip
#: Those that write what is meant for a program as it is.
MORE: list[tuple[str, ...]] = [
    ("export", "T", "--format", "sh"), ("export", "T", "--format", "json"), ("targets", "--json"),
    ("status", "T", "--json"), ("top", "--json", "--once"), ("audit", "--json"), ("status", "no such"), ("lint", EVIL),
    ("explain", EVIL), ("status", "two"), ("override", "set", "write_buffer_size=9", "T", "--column-family", EVIL),
    ("override", "set", "nothing=1"), ("set-policy", "nothing"),
]  # fmt: skip


@dataclass(frozen=True)
class Evil:
    """A daemon of two databases whose names are hostile, and the first one's id."""

    run_dir: Path
    target: str

    def run(self, *arguments: str) -> str:
        """Run adocctl; everything that it has written."""
        given = [{"T": self.target, "F": str(self.run_dir / "recording")}.get(each, each) for each in arguments]
        done = command("adocctl", *given, run_dir=self.run_dir, COLUMNS=str(PIPE_COLUMNS))
        written = done.out + done.err
        assert "Traceback" not in written, written
        assert "Usage: " not in written, "it was not run"
        return written


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evil]:
    run_dir = tmp_path_factory.mktemp("evil")
    databases = [overflowing(Path(f"/{name}{EVIL}")) for name in ("one", "two")]
    for database in databases:
        database.set_option("max_background_jobs", "4")
        database.add_column_family(f"family{EVIL}")
    with FakeAgent(run_dir, databases, program=f"db{EVIL}"), serving(run_dir, "--policy", "adoc"):

        def decided() -> list[dict[str, Any]]:
            done = command("adocctl", "targets", "--json", run_dir=run_dir)
            found = json.loads(done.ok())["targets"] if done.status == 0 else []
            return found if len(found) == 2 and all(each["decisions"] for each in found) else []

        first = eventually(decided, what="decisions on both")[0]
        assert EVIL in first["path"], "it is not the daemon that takes anything away"
        yield Evil(run_dir, first["id"])
    log = log_of(run_dir)
    assert printable(EVIL) in log, "it was logged"
    assert [word for word in WORDS if word in log] == []
    assert all(re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ |  ", line) for line in log.splitlines())
    assert not [line for line in log.splitlines() if line.startswith(FORGED)]


@pytest.fixture(scope="module")
def restored(evil: Evil) -> Evil:
    """The same once the daemon has seen that the originals are back: `export` then names the path, and no options."""
    evil.run("restore", "T")

    eventually(lambda: changed(json.loads(evil.run("status", "T", "--json"))) == [], what="the originals")
    return evil


def test_every_command_is_in_here() -> None:
    def names(group: Any, before: str = "") -> Iterator[str]:
        for name, each in group.commands.items():
            if hasattr(each, "commands"):
                yield from names(each, f"{before}{name} ")
            else:
                yield before + name

    assert set(names(typer.main.get_command(adocctl.app))) == set(COMMANDS)


def test_no_command_hands_them_on(evil: Evil) -> None:
    """In this order, for each finds what the ones before have left."""
    shown = set()
    for name, arguments in COMMANDS.items():
        written = evil.run(*name.split(), *arguments)
        assert written, name
        assert [word for word in WORDS if word in written] == [], f"{name}: {written!r}"
        if FORGED in written:
            shown.add(name)
    assert shown >= SHOW, "the names were shown"


@pytest.mark.parametrize("arguments", MORE, ids=[" ".join(printable(each)[:20] for each in one) for one in MORE])
def test_nor_do_other_ways_and_refusals(restored: Evil, arguments: tuple[str, ...]) -> None:
    written = restored.run(*arguments)
    assert FORGED in written, "a name was shown"
    assert [word for word in WORDS if word in written] == [], repr(written)


def exported(**more: Any) -> Exported:
    return Exported(
        f"/db{EVIL}", "ed765b", more.pop("version", "7.8.3"), f"adoc{EVIL}",
        more.pop("database", {}), more.pop("families", {}), (f"it{EVIL}",),
    )  # fmt: skip


@pytest.mark.parametrize(
    "broken",
    [
        {"database": {"max_background_jobs": Kept("5\n  disable_wal=true", "2")}},
        {"database": {"max_background_jobs": Kept("5 # 6", "2")}},
        {"database": {"a=1\n[DBOptions]\n  b": Kept("5", "2")}},
        {"database": {"max_background_jobs": Kept("\x1b[2J", "2")}},
        {"families": {EVIL: {"write_buffer_size": Kept("5", "2")}}},
        {"version": "7.8.3\n  options_file_version=9"},
    ],
)
def test_what_cannot_be_written_faithfully_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(show_export.NotWritable, match="use --format json"):
        show_export.as_options(exported(**broken))
    assert json.loads(show_export.as_json(exported(**broken)))


def test_comments_are_on_their_line_and_families_as_rocksdb_writes_them() -> None:
    kept = {"write_buffer_size": Kept("5", f"2{EVIL}", f"alice{EVIL}")}
    written = show_export.as_options(exported(families={"default": {}, "a\nb#c:d\\e": kept}))
    assert [word for word in WORDS if word in written] == []
    assert '[CFOptions "a\\nb\\#c\\:d\\\\e"]' in written.splitlines()
    assert sum(not line.startswith(("#", " ", "[")) for line in written.splitlines() if line) == 0


def test_flags_are_words_of_a_shell() -> None:
    kept = {"memtable_factory": Kept("{id=x;y=1}", "2")}
    written = show_export.as_flags(exported(database=kept))
    shown = subprocess.run(["sh", "-c", f"printf '%s\\n' {written}"], capture_output=True, text=True, check=True)
    assert shown.stdout == "--memtable_factory={id=x;y=1}\n"
    with pytest.raises(show_export.NotWritable):
        show_export.as_flags(exported(database={"max_background_jobs": Kept("$(id)", "2")}))


def test_the_log_has_whole_lines_only() -> None:
    """Also of what was raised, and as JSON for a terminal that looks at it."""
    code = (
        "import logging, sys; from adocd.daemon.fleet import logs; logs.to_stderr(sys.argv[1]); evil = sys.argv[2]\n"
        "try:\n    raise ValueError(evil)\n"
        "except ValueError:\n    logging.getLogger('x').exception('it %s', evil)"
    )
    for kind in ("text", "json"):
        done = subprocess.run([sys.executable, "-c", code, kind, EVIL], capture_output=True, check=True)
        written = done.stderr.decode()
        assert [word for word in WORDS if word in written] == []
        if kind == "json":
            assert json.loads(written)["message"] == f"it {EVIL}", "nothing is lost"
        else:
            first, *more = written.splitlines()
            assert first.endswith(f" ERROR it {printable(EVIL)}")
            assert len(more) >= 3
            assert all(line.startswith("  ") for line in more)
