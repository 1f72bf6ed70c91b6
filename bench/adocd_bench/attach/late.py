"""A law that comes late: `python -m adocd_bench.attach.late [--picture FILE] [--keep FILE | --again FILE]`.

Stock db_bench writes on a capped device, alone at first, and stalls. After a minute adocd attaches to it while it runs,
with a law. One run, drawn as it was: writes per second, where RocksDB held writes (from its LOG), and the law's
decisions. It shows that attaching works, not how good the law is: the debt that is left at its end is not counted.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from adocd.cli.agent_built import find_or_build_agent
from adocd.model.in_words import duration
from adocd.model.policy import Policy
from adocd.probes.log import read_log
from adocd.process.attach import attachment
from adocd.process.attach.problem import AttachRefused
from adocd.process.compiled import NativeError
from adocd_bench.errors import BenchError, RunFailed
from adocd_bench.evaluation.report import svg, words
from adocd_bench.evaluation.report.svg import Axis, Drawing
from adocd_bench.host.cap import Cap, capped
from adocd_bench.host.device import parse_profile
from adocd_bench.host.noise import cpu_times, others_share
from adocd_bench.programs.db_bench import find_db_bench
from adocd_bench.programs.fill import Fill, operations_by_second
from adocd_bench.results import ResultFile
from adocd_bench.run.child import Child, child, wait_until
from adocd_bench.run.daemon import RunDaemon, serving
from adocd_bench.run.observe import Watched, stalls_in
from adocd_bench.run.workspace import choose_parent, needed_bytes, run_directory, workspace

_BEGINS_WITHIN_S, _OVERRUN_S, _LOOK_S = 30.0, 120.0, 0.25
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 860, 260, 84, 16, 52, 216


@dataclass(frozen=True, slots=True)
class HeldWrites:
    """RocksDB stopped or delayed writes, in seconds of the run."""

    begin_s: float
    end_s: float
    condition: str
    cause: str


@dataclass(frozen=True, slots=True)
class LateDecision:
    """A decision of the law: when, in seconds of the run, and by which rule."""

    at_s: float
    rule: str
    outcome: str | None


@dataclass(frozen=True, slots=True)
class LateRun:
    """The run; `attach_s` is how long it took to attach, which began at `attached_at_s`.

    Where the agent was there from the start, `moment` is what came at `attached_at_s` instead.
    """

    began_unix_s: float
    rocksdb_version: str
    profile: str
    law: str
    seconds: int
    others_cpu: float
    attached_at_s: float
    attach_s: float
    writes_by_second: tuple[int, ...]
    held: tuple[HeldWrites, ...]
    decisions: tuple[LateDecision, ...]
    program: str = "db_bench"
    moment: str = "adocd attach"
    unit: str = "writes/s"

    def writes_per_s(self, begin_s: float, end_s: float) -> float:
        """Give the mean of the whole seconds in a part of the run."""
        part = self._part(begin_s, end_s)
        return sum(part) / len(part)

    def worst_second(self, begin_s: float, end_s: float) -> int:
        """Give the fewest writes in a whole second of a part of the run."""
        return min(self._part(begin_s, end_s))

    def held_s(self, condition: str, begin_s: float, end_s: float) -> float:
        """Give the seconds of a part of the run in which RocksDB stopped or delayed writes."""
        each = (min(one.end_s, end_s) - max(one.begin_s, begin_s) for one in self.held if one.condition == condition)
        return sum(length_s for length_s in each if length_s > 0)

    def _part(self, begin_s: float, end_s: float) -> Sequence[int]:
        found = [writes for at_s, writes in enumerate(self.writes_by_second) if begin_s <= at_s and at_s + 1 <= end_s]
        if not found:
            raise RunFailed("db_bench reported no seconds")
        return found


FILE = ResultFile(TypeAdapter(LateRun))


def main() -> None:
    """Run it, or read what was measured; draw it, and print a table."""
    parser = argparse.ArgumentParser(description="A law that is attached to a running, stalling db_bench.")
    parser.add_argument("--law", default="adoc")
    parser.add_argument("--profile", default="cap-100", help="the device, as in `adocd bench run` (default: cap-100)")
    parser.add_argument("--seconds", type=int, default=60, help="before the attachment, and again after it")
    parser.add_argument("--directory", type=Path, help="for the database; default: a disk with enough room")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the run here, as SVG")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the figures here")
    parser.add_argument("--again", type=Path, metavar="FILE", help="show these figures, and run nothing")
    asked = parser.parse_args()
    try:
        run = FILE.read(asked.again) if asked.again else measure(
            Policy(asked.law), asked.profile, asked.seconds, asked.directory
        )  # fmt: skip
        if asked.keep:
            FILE.write(asked.keep, run)
    except (BenchError, AttachRefused, NativeError) as error:
        raise SystemExit(str(error)) from None
    if asked.picture:
        asked.picture.write_text(picture(run).render(alone=True) + "\n", encoding="utf-8")
    sys.stdout.write(table(run))


def measure(policy: Policy, profile_name: str, seconds: int, directory: Path | None) -> LateRun:
    """Run db_bench once, attached to from the middle on. Raises BenchError, AttachRefused, NativeError."""
    find_or_build_agent()
    profile = parse_profile(profile_name)
    room_bytes = needed_bytes(2 * seconds, profile)
    parent = choose_parent(directory, room_bytes)
    with (
        workspace(parent) as space,
        capped(profile, space, room_bytes) as cap,
        run_directory() as room,
        serving(room, policy) as daemon,
    ):
        return _run(policy, cap, room, daemon, seconds)


def _run(policy: Policy, cap: Cap, room: Path, daemon: RunDaemon, seconds: int) -> LateRun:
    before, db_bench = cpu_times(), find_db_bench()
    fill = Fill(cap.directory / "db", 2 * seconds, 1, room / "seconds.csv")
    with child(db_bench.name, cap.command(db_bench.without_agent(fill)), room) as program:
        wait_until(fill.report.exists, "db_bench did not begin", program, within_s=_BEGINS_WITHIN_S)
        began_s, began_unix_s = time.monotonic(), time.time()
        _wait(program, began_s + seconds)
        attached_at_s = time.monotonic() - began_s
        attachment.attach(program.pid, room, {})
        attach_s = time.monotonic() - began_s - attached_at_s
        watched = Watched(daemon, fill.directory)
        while program.is_running(2 * seconds + _OVERRUN_S):
            watched.look()
            time.sleep(_LOOK_S)
        watched.look_at_decisions()
    if not watched.decisions:
        raise RunFailed(f"{policy.controller} decided nothing after it was attached, so there is nothing to show")
    return LateRun(
        began_unix_s=began_unix_s,
        rocksdb_version=db_bench.rocksdb_version,
        profile=cap.profile.name,
        law=policy.controller,
        seconds=seconds,
        others_cpu=round(others_share(before, cpu_times()), 3),
        attached_at_s=round(attached_at_s, 2),
        attach_s=round(attach_s, 2),
        writes_by_second=tuple(operations_by_second(fill.report).values()),
        held=tuple(
            HeldWrites(
                round(each.begin_s - began_unix_s, 2), round(each.end_s - began_unix_s, 2), each.condition, each.cause
            )
            for each in stalls_in(read_log(fill.directory / "LOG", rotated=False))
        ),
        decisions=tuple(
            LateDecision(round(each.monotonic_s - began_s, 2), each.rule, each.outcome) for each in watched.decisions
        ),
    )


def _wait(program: Child, until_s: float) -> None:
    while (left_s := until_s - time.monotonic()) > 0:
        if program.ended():
            raise RunFailed(f"db_bench ended early: {program.last_words()}")
        time.sleep(min(_LOOK_S, left_s))


def table(run: LateRun) -> str:
    """Show both halves, in Markdown."""
    halves = (
        ("alone", 0.0, run.attached_at_s),
        (
            f"with `{run.law}`" + (" attached" if run.attach_s else ""),
            run.attached_at_s + run.attach_s,
            2.0 * run.seconds,
        ),
    )
    return "\n".join([
        f"| | {run.unit} | worst second | writes stopped | writes delayed |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {run.writes_per_s(begin_s, end_s):,.0f} | {run.worst_second(begin_s, end_s):,} "
            f"| {duration(run.held_s('stopped', begin_s, end_s))} | {duration(run.held_s('delayed', begin_s, end_s))} |"
            for name, begin_s, end_s in halves
        ),
    ]) + "\n"  # fmt: skip


def picture(run: LateRun) -> Drawing:
    """Draw the run."""
    drawing = Drawing(
        "attach",
        f"{run.law} comes late to a {run.program} that stalls",
        f"{run.unit} of {run.program} over time. Bands show where RocksDB stopped or delayed writes; the "
        f"upright line is the moment of {run.moment}, ticks at the bottom are the law's decisions.",
        _WIDTH,
        _HEIGHT,
    )
    x = Axis(0, 2.0 * run.seconds, _LEFT, _WIDTH - _RIGHT)
    y = Axis(0, max(run.writes_by_second), _BOTTOM, _TOP)
    drawing.text(_LEFT, 20, run.unit, kind="head")
    for place, condition in enumerate(("stopped", "delayed")):
        drawing.box(_LEFT + 90 + 140 * place, 10, 22, 12, f"var(--{condition})", 0.28)
        drawing.text(_LEFT + 118 + 140 * place, 20, f"writes {condition}")
    drawing.left_axis(y, _LEFT, svg.ticks(max(run.writes_by_second), 4), words.digits, _WIDTH - _RIGHT)
    drawing.bottom_axis(x, _BOTTOM, svg.ticks(2.0 * run.seconds, 8), lambda s: f"{s:g} s", _TOP)
    for each in run.held:
        if each.condition in {"stopped", "delayed"} and each.begin_s < 2 * run.seconds:
            wide = max(x(each.end_s) - x(each.begin_s), 0.6)
            drawing.box(x(each.begin_s), _TOP, wide, _BOTTOM - _TOP, f"var(--{each.condition})", 0.28)
    drawing.path([(x(at_s + 0.5), y(writes)) for at_s, writes in enumerate(run.writes_by_second)], svg.colour(0))
    drawing.line(x(run.attached_at_s), _TOP - 8, x(run.attached_at_s), _BOTTOM, "axis")
    drawing.text(x(run.attached_at_s) + 4, _TOP - 6, f"{run.moment}, law {run.law}", kind="head")
    for each_s in sorted({round(decision.at_s, 1) for decision in run.decisions}):
        drawing.line(x(each_s), _BOTTOM, x(each_s), _BOTTOM + 5, "axis")
    return drawing


if __name__ == "__main__":
    main()
