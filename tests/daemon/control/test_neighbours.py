"""The processes of databases: which they are, and how much memory they can have."""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from adocd.daemon.change.guards.guard import MemoryInUse, TasksInUse
from adocd.daemon.control import neighbours
from adocd.daemon.control.neighbours import HostProcess, Neighbours, Share
from adocd.model.capabilities import Capabilities
from adocd.model.database import AgentKind, Info
from adocd.model.knob import MIB
from adocd.model.process import GroupLimits
from adocd.probes import memory_limit
from adocd.probes.cgroup import Group
from tests.builders import GIB


def process(pid_here: int | None, *, host: str = platform.node()) -> HostProcess:
    """A process that has the pid 1 where it runs, as in a container."""
    agent = AgentKind("native", "1")
    return HostProcess.of(Info("1.8", agent, "9.8.4", host, 1, "program", "user", Capabilities(), pid_here=pid_here))


def test_the_limit_is_that_of_the_process_and_not_of_one_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container on the host's network has the host's name, and the host's pid 1 is another process."""
    monkeypatch.setattr(neighbours, "cgroup_limit_bytes", {1: GIB, 4711: 2 * GIB}.__getitem__)
    assert process(4711).limit_bytes == 2 * GIB
    assert process(None).limit_bytes is None, "it cannot be seen from here"
    assert process(4711, host="another").limit_bytes is None


def test_a_limit_that_cannot_be_read_for_a_moment_stays() -> None:
    limited = process(None).limited_by(GroupLimits(None, GIB, None, {}, ()))
    assert limited.limit_bytes == GIB
    assert limited.limited_by(None).limit_bytes == GIB
    assert limited.limited_by(GroupLimits(None, None, None, {}, ())).limit_bytes is None, "it was taken away"


def test_what_is_free_elsewhere_is_not_what_the_daemon_may_still_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon is a service with a limit of its own, which it has reached here."""
    for name in ("memory.max", "memory.current"):
        (tmp_path / name).write_text(str(64 * MIB))
    monkeypatch.setattr(memory_limit, "groups_of", lambda *_: (Group(True, (tmp_path,)),))
    group, machine = Neighbours().beside("a", process(os.getpid())).read_memory()
    assert group == MemoryInUse(0, 64 * MIB)
    assert machine.total_bytes == memory_limit.machine_bytes()
    assert machine.available_bytes != 0
    elsewhere, here = Neighbours().beside("a", process(None)).read_memory()
    assert elsewhere == MemoryInUse()
    assert here.total_bytes == machine.total_bytes
    assert Neighbours(reads_memory=False).beside("a", process(None)).read_memory() == ()


def test_growth_that_memtables_have_yet_to_take_counts_in_their_group_and_on_the_machine() -> None:
    """A flood in ten databases: each saw all of the free memory, and none what the others had just been given."""
    all_of_them = Neighbours()
    for name, where, mib in (("a", 4711, 100), ("b", 4711, 30), ("c", 4712, 7), ("d", None, 5000)):
        share = Share(f"/data/{name}", process(where), 0, turns_shared=False, promised_bytes=mib * MIB)
        all_of_them.put(name, share)
    group, machine = all_of_them.beside("a", process(4711)).read_memory()
    assert (group.promised_bytes, machine.promised_bytes) == (130 * MIB, 137 * MIB)
    all_of_them.remove("b")
    group, machine = all_of_them.beside("a", process(4711)).read_memory()
    assert (group.promised_bytes, machine.promised_bytes) == (100 * MIB, 107 * MIB)


def test_the_tasks_are_those_of_the_process_that_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "cgroup_tasks", {1: (9, 10), 4711: (40, 100), 4712: None}.__getitem__)
    assert Neighbours().beside("a", process(4711)).read_tasks() == TasksInUse(used=40, limit=100)
    assert Neighbours().beside("a", process(4712)).read_tasks() is None, "it has no limit"
    assert Neighbours().beside("a", process(None)).read_tasks() is None, "it cannot be seen from here"


def test_the_databases_of_a_process_share_what_its_cgroup_allows() -> None:
    limited = replace(process(4711), limit_bytes=GIB)
    all_of_them = Neighbours()
    for name, where in (("a", limited), ("b", limited), ("c", process(4712))):
        all_of_them.put(name, Share(f"/data/{name}", where, memtables_bytes=128 * MIB, turns_shared=False))
    assert all_of_them.beside("a", limited).process_memtables_bytes == 128 * MIB
    assert all_of_them.beside("new", limited).process_memtables_bytes == 256 * MIB
    all_of_them.remove("b")
    assert all_of_them.beside("a", limited).process_memtables_bytes == 0
    assert all_of_them.beside("a", process(4712)).process_memtables_bytes == 128 * MIB, "it has moved there"


def test_two_containers_with_a_pid_1_each_share_no_threads() -> None:
    beside = Neighbours()
    beside.put("a", Share("/data/a", process(4711), memtables_bytes=0, turns_shared=True))
    assert beside.beside("b", process(4711)).shared_with == "/data/a"
    assert beside.beside("b", process(4712)).shared_with is None
    beside.remove("a")
    assert beside.beside("b", process(4711)).shared_with is None
