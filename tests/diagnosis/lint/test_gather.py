"""What is read of a target beside what its agent says."""

from __future__ import annotations

import asyncio
import os
import platform
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from adocd.diagnosis.lint import gather as gather_module
from adocd.diagnosis.lint import table
from adocd.diagnosis.lint.facts import Bounds, Facts
from adocd.diagnosis.lint.finding import Severity
from adocd.diagnosis.lint.gather import bounds_of, gather, with_recent_events
from adocd.diagnosis.lint.rules import RULES
from adocd.model.knob import MIB
from adocd.model.policy import Policy
from adocd.model.snapshot import Snapshot
from adocd.probes.memory_limit import cgroup_limit_bytes
from adocd.probes.options_file import OptionsFile, Unreadable
from adocd.probes.own_thread import OwnThread
from adocd.targets.errors import Silent, TargetError
from tests.builders import GIB, snapshot
from tests.diagnosis.lint.databases import FILES, defaults


def gathered(directory: Path, host: str, pid_here: int | None = None) -> Facts:
    known = defaults()
    return asyncio.run(
        gather(
            replace(known.info, host=host, pid_here=pid_here),
            replace(known.detail, path=str(directory)),
            known.snapshot,
            Policy("fixed"),
            budget_bytes=GIB,
            beside_bytes=MIB,
            thread=OwnThread("read OPTIONS"),
        )
    )


def test_the_options_file_and_the_memory_of_this_host(tmp_path: Path) -> None:
    (tmp_path / "OPTIONS-000007").write_text(FILES["7.8.3"])
    facts = gathered(tmp_path, platform.node(), os.getpid())
    assert isinstance(facts.options_file, OptionsFile)
    assert facts.database.text("db_write_buffer_size") == "0"
    assert (facts.memory.budget_bytes, facts.memory.beside_bytes) == (GIB, MIB)
    assert facts.memory.limit_bytes is not None
    assert facts.memory.limit_bytes > MIB
    assert facts.memory.group_bytes == cgroup_limit_bytes(os.getpid())


def test_a_disk_that_hangs_costs_one_thread_and_the_rest_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asyncio's few threads are for all databases."""
    answers, asked = threading.Event(), list[str]()

    def hangs(directory: Path, _identity: str) -> None:
        asked.append(str(directory))
        answers.wait()

    monkeypatch.setattr(gather_module, "_PATIENCE_S", 0.05)
    monkeypatch.setattr(gather_module, "newest", hangs)
    known, thread = defaults(), OwnThread("read OPTIONS")

    async def run() -> list[Facts]:
        return [
            await gather(
                replace(known.info, host=platform.node(), pid_here=os.getpid()),
                replace(known.detail, path=str(tmp_path)),
                known.snapshot,
                Policy("fixed"),
                budget_bytes=GIB,
                beside_bytes=MIB,
                thread=thread,
            )
            for _ in range(8)
        ]

    try:
        facts = asyncio.run(run())
    finally:
        answers.set()
    assert len(asked) == 1, "no second thread waits for it"
    for each in facts:
        assert isinstance(each.options_file, Unreadable)
        assert each.options_file.why.startswith("its disk has not answered within")
        assert each.memory.limit_bytes is not None


def test_a_process_of_another_host_has_another_memory(tmp_path: Path) -> None:
    facts = gathered(tmp_path / "missing", "another", os.getpid())
    assert facts.memory.limit_bytes is None
    assert isinstance(facts.options_file, Unreadable)


def test_the_memory_of_a_process_that_cannot_be_seen_from_here_is_not_known(tmp_path: Path) -> None:
    assert gathered(tmp_path, platform.node(), None).memory.limit_bytes is None


class Answering:
    """A target that answers with a snapshot, or does not."""

    def __init__(self, answer: Snapshot | TargetError) -> None:
        self.answer = answer
        self.asked: int | None = None

    async def snapshot(self, events_after: int | None) -> Snapshot:
        """Answer, and remember the cursor."""
        self.asked = events_after
        if isinstance(self.answer, TargetError):
            raise self.answer
        return self.answer


def test_the_last_events_are_read_anew() -> None:
    known, newer = snapshot(last_event=700), snapshot(last_event=701)
    target = Answering(newer)
    assert asyncio.run(with_recent_events(target, known)) is newer
    assert target.asked == 200


def test_a_session_that_began_meanwhile_is_another_matter() -> None:
    known = snapshot(last_event=700)
    assert asyncio.run(with_recent_events(Answering(snapshot(session="s2")), known)) is known


def test_a_silent_agent_s_last_snapshot_has_to_do() -> None:
    known = snapshot(last_event=1)
    target = Answering(Silent("no answer"))
    assert asyncio.run(with_recent_events(target, known)) is known
    assert target.asked == 0


@pytest.mark.parametrize(
    ("policy", "bounds"),
    [
        (Policy("fixed"), Bounds(512 * MIB, 20)),
        (Policy("adoc"), Bounds(512 * MIB, 20)),
        (Policy("adoc", {"batch_max_bytes": 128 * MIB, "threads_max": 8}), Bounds(128 * MIB, 8)),
        (Policy("adoc", {"batch_step_bytes": 32 * MIB}), Bounds(512 * MIB, 20, 32 * MIB)),
        (Policy("adoc", {"tune_batch": False}), Bounds(512 * MIB, 20, None)),
        (Policy("adoc-released", {"threads_max": 8}), Bounds(512 * MIB, 8, 0)),
        (Policy("stability"), Bounds(512 * MIB, 20, None)),
        (Policy("mimd+adoc", {"adoc.threads_max": 6, "mimd.max_bytes_per_s": 10**9}), Bounds(512 * MIB, 6)),
    ],
)
def test_bounds_are_the_policy_s(policy: Policy, bounds: Bounds) -> None:
    assert bounds_of(policy) == bounds


def test_what_is_live_wins_over_the_file() -> None:
    facts = defaults()
    assert isinstance(facts.options_file, OptionsFile)
    old = {"default": {"level0_stop_writes_trigger": "7", "compaction_style": "x"}}
    facts = replace(facts, options_file=OptionsFile({"delayed_write_rate": "7"}, old))
    assert facts.families["default"].number("level0_stop_writes_trigger") == 36
    assert facts.families["default"].text("compaction_style") == "x"
    assert facts.database.number("delayed_write_rate") == 16 * MIB


def test_every_rule_says_what_it_finds_and_has_a_row() -> None:
    rows = table.rows()[2:]
    assert len(rows) == len(RULES)
    kinds = [row.split(" | ")[1] for row in rows]
    assert kinds == sorted(kinds, key=[str(kind) for kind in Severity].index)
    for rule in RULES:
        assert rule.summary.endswith(".")
        assert "|" not in rule.summary + rule.source
        assert any(f"`{rule.name}`" in row for row in rows)
