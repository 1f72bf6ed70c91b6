"""The demo: a real RocksDB under real write pressure, first left alone, then kept out of stalls.

Both halves are the same program with the same keys on the same device under the same cap, each on a fresh
database, watched by the same daemon; the daemon's policy is the only difference. Everything shown is measured.
"""

import io
import json
import math
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from adocd_bench.demo.figures import FILE, DemoFacts, DemoResult, MeasuredDemo
from adocd_bench.demo.half import HalfOutcome, HalfPlan, run_half
from adocd_bench.demo.report import print_report
from adocd_bench.demo.view import DemoView, LiveView, view
from adocd_bench.errors import BadArgument, CapUnavailable
from adocd_bench.host.cap import Cap, capped
from adocd_bench.host.device import DEFAULT_PROFILE, REAL_ROOTS, UNCAPPED, DeviceProfile, Roots, parse_profile
from adocd_bench.programs.db_bench import find_db_bench
from adocd_bench.programs.embedded import find_embedded
from adocd_bench.programs.fill import FillProgram
from adocd_bench.run.interrupt import interruptible
from adocd_bench.run.workspace import choose_parent, needed_bytes, workspace

#: What can write, by the name that `--on` takes; the first is the default, for it needs nothing but Python.
WORKLOADS: Mapping[str, Callable[[], FillProgram]] = {"embedded": find_embedded, "db_bench": find_db_bench}
DEFAULT_WORKLOAD = next(iter(WORKLOADS))
DEFAULT_SECONDS = 40.0
_MIN_SECONDS = 5
_MAX_SECONDS = 24 * 3600
_PICTURE_COLUMNS = 96


@dataclass(frozen=True)
class DemoOptions:
    """What the user asked for.

    Attributes:
        on: the workload, one of `WORKLOADS`.
        seconds: how long each half writes; rounded up to whole seconds.
        profile: the device profile's name; None is `cap-210` where the device can be capped, else `uncapped`.
        directory: where the databases go; None chooses a place on a disk.
        picture: where the last picture and the report go as SVG; None for nowhere.
        keep: where the result goes, to work its figures out again; None for nowhere.
        json_output: whether the last line on standard output is the result as JSON, and nothing else is there.

    """

    on: str = DEFAULT_WORKLOAD
    seconds: float = DEFAULT_SECONDS
    profile: str | None = None
    directory: Path | None = None
    json_output: bool = False
    picture: Path | None = None
    keep: Path | None = None


def run_demo(
    options: DemoOptions, *, out: Console | None = None, err: Console | None = None, roots: Roots = REAL_ROOTS
) -> DemoResult:
    """Run both halves and show them; `out` and `err` are the standard streams unless given.

    In a terminal the run is shown live on `out`. Elsewhere, and with `json_output`, progress goes to `err` in
    plain lines. The report is printed before this returns.

    Raises BenchError with one sentence when it cannot be done, and KeyboardInterrupt on Ctrl-C, SIGTERM or
    SIGHUP; by then every process, cgroup and directory that was made is gone.
    """
    out, err = out or Console(), err or Console(stderr=True)
    if options.on not in WORKLOADS:
        raise BadArgument(f"there is no workload {options.on!r}: use one of {', '.join(WORKLOADS)}")
    if not _MIN_SECONDS <= options.seconds <= _MAX_SECONDS:
        raise BadArgument(f"--seconds must be from {_MIN_SECONDS} to {_MAX_SECONDS}, not {options.seconds:g}")
    if options.picture is not None and not os.access(options.picture.parent, os.W_OK):
        raise BadArgument(f"--picture cannot be written: {options.picture.parent} is no directory you may write to")
    seconds, began_unix_s = math.ceil(options.seconds), time.time()
    wanted = parse_profile(options.profile or DEFAULT_PROFILE)
    workload = WORKLOADS[options.on]()
    size_bytes = needed_bytes(seconds, wanted)
    parent = choose_parent(options.directory, size_bytes, roots)
    with ExitStack() as stack:
        stack.enter_context(interruptible())
        place = stack.enter_context(workspace(parent, roots))
        cap, warning = _enter_cap(stack, wanted, (place, size_bytes), roots, explicit=options.profile is not None)
        if warning:
            choose_parent(parent, needed_bytes(seconds, UNCAPPED), roots)
            err.print(f"warning: {warning}", style="yellow", highlight=False, soft_wrap=True)
        facts = DemoFacts(
            on=options.on,
            seconds=seconds,
            profile=cap.profile.name,
            device=cap.disk.name if cap.disk else None,
            directory=str(parent),
            rocksdb_version=workload.rocksdb_version,
            seed=secrets.randbelow(1 << 31) + 1,
        )
        live = out.is_terminal and not options.json_output
        picture = LiveView(_title(workload, facts))
        with view(out if live else err, picture, live) as shown:
            plan = HalfPlan("fixed", workload, cap, cap.directory / "database", seconds, facts.seed)
            fixed = _run(plan, shown)
            adoc = _run(replace(plan, policy="adoc"), shown)
    warnings = ([warning] if warning else []) + [*fixed.warnings, *adoc.warnings]
    result = DemoResult(facts, fixed.figures, adoc.figures, tuple(warnings))
    print_report(err if options.json_output else out, result)
    if options.picture is not None:
        _save_picture(options.picture, picture, result)
    if options.keep is not None:
        FILE.write(options.keep, MeasuredDemo(began_unix_s, os.cpu_count() or 1, result))
    if options.json_output:
        out.file.write(json.dumps(result.as_json(), ensure_ascii=False) + "\n")
        out.file.flush()
    return result


def _save_picture(path: Path, picture: LiveView, result: DemoResult) -> None:
    console = Console(record=True, width=_PICTURE_COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(picture)
    print_report(console, result)
    # Rich's SVG loads a font from another host; use the reader's own fonts instead.
    drawn = re.sub(r',?\s*url\("https?://[^"]*"\) format\("[^"]*"\)', "", console.export_svg(title="adocd demo"))
    try:
        path.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise BadArgument(f"the picture cannot be written to {path}: {error.strerror}") from None


def _run(plan: HalfPlan, shown: DemoView) -> HalfOutcome:
    """Run one half on a fresh database, after earlier writes have reached the disk, so that they do not slow it."""
    os.sync()
    plan.database.mkdir()
    try:
        outcome = run_half(plan, shown.show)
    finally:
        shutil.rmtree(plan.database, ignore_errors=True)
    shown.finish(outcome.figures)
    return outcome


def _enter_cap(
    stack: ExitStack, wanted: DeviceProfile, at: tuple[Path, int], roots: Roots, *, explicit: bool
) -> tuple[Cap, str | None]:
    """Cap the device, `at` a workspace with so many bytes for it.

    If that is impossible and the user asked for no profile, continue uncapped and say so.
    """
    try:
        return stack.enter_context(capped(wanted, *at, roots)), None
    except CapUnavailable as error:
        if explicit:
            raise
        warning = f"running uncapped, the figures are this disk's own: {error}"
        return stack.enter_context(capped(UNCAPPED, *at, roots)), warning


def _title(workload: FillProgram, facts: DemoFacts) -> str:
    place = f"{facts.profile} on {facts.device}" if facts.device else f"{facts.profile} in {facts.directory}"
    return f"{workload.title}, 2 x {facts.seconds} s, {place}"
