"""Runs a JVM example under a law, from its first record to its end, and draws one to which the law comes late."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd_bench.attach.late import HeldWrites, LateDecision, LateRun
from adocd_bench.errors import RunFailed
from adocd_bench.host.noise import cpu_times, others_share
from adocd_bench.jvm.examples import Example, RunningExample, options, running
from adocd_bench.jvm.measured import LawRun
from adocd_bench.run.daemon import RunDaemon, serving
from adocd_bench.run.observe import POLL_S, Watched
from adocd_bench.run.workspace import run_directory, workspace

_FOUND_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Jvm:
    """How to start an example with the agent in it."""

    example: Example
    classpath: str
    agent: Path
    parent: Path


def run(jvm: Jvm, law: str, seconds: int) -> LawRun:
    """Run it under a law. Raises RunFailed, also where RocksDB held no writes and no law could act."""
    with _watched(jvm, Policy(law), options(seconds=seconds)) as (program, watched):
        while not program.child.ended():
            watched.look()
            time.sleep(POLL_S)
        total = program.total()
        by_second = program.seconds()
    if watched.newest is None:
        raise RunFailed(f"the agent in {jvm.example.title} did not show its database")
    applied = Counter(each.rule for each in watched.decisions if each.outcome == "applied")
    family = watched.newest.column_families[0]
    return LawRun(
        program=jvm.example.name,
        law=law,
        seconds=total.seconds,
        records=total.records,
        by_second=tuple(each.records for each in by_second),
        stopped_s=round(_held_s(watched, lambda sample: sample.stopped_fraction), 2),
        delayed_s=round(_held_s(watched, lambda sample: sample.delayed_fraction), 2),
        longest_put_ms=total.longest_put_ms,
        rules=dict(applied),
        l0_files=family.l0_files,
        pending_compaction_bytes=family.pending_compaction_bytes,
    )


def late(jvm: Jvm, law: str, seconds: int) -> LateRun:
    """Run it left alone at first, and under a law from the middle on. Raises RunFailed, also if that does not act."""
    began_unix_s, before = time.time(), cpu_times()
    with _watched(jvm, Policy("fixed"), options(seconds=2 * seconds)) as (program, watched):
        set_s = None
        while not program.child.ended():
            watched.look()
            if set_s is None and time.monotonic() - program.began_s >= seconds:
                watched.set_policy(Policy(law))
                set_s = time.monotonic() - program.began_s
            time.sleep(POLL_S)
        program.total()
        watched.look_at_decisions()
        by_second = program.seconds()
    mine = [each for each in watched.decisions if each.monotonic_s >= program.began_s + seconds]
    if set_s is None or not mine:
        raise RunFailed(f"{law} decided nothing, so there is nothing to show")
    return LateRun(
        began_unix_s=began_unix_s,
        rocksdb_version=jvm.example.rocksdb,
        profile="the example's rate limiter",
        law=law,
        seconds=seconds,
        others_cpu=round(others_share(before, cpu_times()), 3),
        attached_at_s=round(set_s, 2),
        attach_s=0.0,
        writes_by_second=tuple(each.records for each in by_second),
        held=tuple(bands([tick.sample for tick in watched.ticks], program.began_s)),
        decisions=tuple(LateDecision(round(each.monotonic_s - program.began_s, 2), each.rule, each.outcome)
                        for each in mine),
        program=f"{jvm.example.title} application",
        moment="adocctl set-policy",
        unit="records/s",
    )  # fmt: skip


@contextmanager
def _watched(jvm: Jvm, policy: Policy, asked: Sequence[str]) -> Iterator[tuple[RunningExample, Watched]]:
    """Run it beside a daemon with the policy, until its only database is a target."""
    with (
        workspace(jvm.parent) as space,
        run_directory() as room,
        serving(room, policy) as daemon,
        running(jvm.example, jvm.classpath, space / "state", room, jvm.agent, *asked) as program,
    ):
        watched = Watched(daemon, _database(daemon, program))
        yield program, watched
        watched.look_at_decisions()


def _database(daemon: RunDaemon, program: RunningExample) -> Path:
    until_s = time.monotonic() + _FOUND_WITHIN_S
    while time.monotonic() < until_s:
        listed = daemon.ask("/v1/targets")
        for each in [] if listed is None else listed["targets"]:
            return Path(each["path"])
        time.sleep(POLL_S)
    raise RunFailed(f"the agent in {program.example.title} did not show up: {program.child.last_words()}")


def _held_s(watched: Watched, fraction: Callable[[Sample], float]) -> float:
    return sum(fraction(tick.sample) * tick.sample.interval_s for tick in watched.ticks)


def bands(samples: Sequence[Sample], began_s: float) -> Iterator[HeldWrites]:
    """Give the held part of each sample's interval, at its end."""
    for sample in samples:
        for condition, fraction in (("stopped", sample.stopped_fraction), ("delayed", sample.delayed_fraction)):
            if fraction:
                end_s = sample.monotonic_s - began_s
                yield HeldWrites(round(end_s - fraction * sample.interval_s, 2), round(end_s, 2), condition, "")
