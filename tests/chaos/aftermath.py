"""What the agent does after its daemon was killed, seen at its own socket."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.options import differing
from tests.support.agent_client import AgentClient

Json = Any
L0_FILES = "rocksdb.num-files-at-level0"
#: A request that the daemon had sent when it died may still arrive; it lies in the agent's socket already.
LATE_S = 0.3
#: Two looks that are no further apart tell what was between them.
CLOSE_S = 0.3


@dataclass
class Watch:
    """Looks again and again, and checks at every look that no stop trigger came down on the level-0 files there are."""

    agent: AgentClient
    database: str
    #: Whether the thread pools are a knob here.
    pools: bool
    events: list[Json] = field(default_factory=list)
    #: How long was waited for each condition, in seconds, as far as looks can tell.
    waits: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    #: Events that nobody has seen, for the agent keeps only so many.
    lost_events: int = 0
    #: How many pairs of looks were close enough to tell what became of the stop trigger between them.
    close_looks: int = 0
    snapshot: Json = None

    def __post_init__(self) -> None:
        self.originals = self.agent.database(self.database)["originals"]
        self.snapshot = self.agent.fresh_snapshot(self.database)

    def forget(self) -> None:
        """Begin anew, for the next daemon."""
        self.events.clear()
        self.waits.clear()
        self.lost_events = 0

    def look(self) -> Json:
        """Take a snapshot and check it against the one before."""
        before, now = self.snapshot, self.agent.fresh_snapshot(self.database, self.snapshot["last_event"])
        self.lost_events += now["lost_events"]
        self.events += now["events"]
        for name in now["column_families"] if now["monotonic_s"] - before["monotonic_s"] < CLOSE_S else ():
            self.close_looks += 1
            _see_stop_trigger(name, _stop_and_files(before, name), _stop_and_files(now, name))
        if (condition := before["restore"]["waiting_for"]) is not None:
            words = re.sub(r" \(.*\)$|, which is .*$|: it is .*$", "", condition)
            self.waits[words] += now["monotonic_s"] - before["monotonic_s"]
        self.snapshot = now
        return now

    def sees_change_in_flight(self) -> bool:
        """Ask for no more than that, for it is over soon."""
        return bool(self.agent.snapshot(self.database)["change_in_flight"])

    def differing(self) -> dict[str, tuple[str, str]]:
        """Find what is not as it was when the database was opened."""
        return differing(self.snapshot["options"], self.originals, pools=self.pools)

    @property
    def armed(self) -> bool:
        """Whether a lease is held under which something was changed."""
        return self.snapshot["lease"] is not None and self.snapshot["restore"]["state"] == "armed"

    @property
    def compaction_off(self) -> bool:
        """Whether automatic compaction is switched off."""
        family = self.snapshot["options"]["column_families"]["default"]
        return bool(family["disable_auto_compactions"] == "true")

    @property
    def at_rest(self) -> bool:
        """Whether nobody holds a lease and nothing is left to do."""
        restore = self.snapshot["restore"]["state"]
        idle = self.snapshot["lease"] is None and not self.snapshot["change_in_flight"]
        return idle and restore in ("none", "done")

    def first(self, kind: str, after_s: float) -> float | None:
        """Tell how long after a moment the first event of this kind was."""
        moments = (event["monotonic_s"] for event in self.events if event["kind"] == kind)
        return next((moment_s - after_s for moment_s in moments if moment_s > after_s), None)


@dataclass(frozen=True)
class Aftermath:
    """One kill: what there was to restore, and how that went. Times are seconds since the kill."""

    armed: bool
    in_flight: bool
    compaction_off: bool
    begun_s: float | None
    back_s: float | None
    waits: dict[str, float]
    steps: list[str]


def watch_until_restored(watch: Watch, killed_s: float, within_s: float, *, in_flight: bool) -> Aftermath:
    """Follow what the agent does, beginning with the last look before the kill, until nothing is left to do."""
    armed, off, lost_before = watch.armed, watch.compaction_off, watch.lost_events
    watch.look()
    in_flight = in_flight or watch.snapshot["change_in_flight"]
    armed, off = armed or watch.armed, off or watch.compaction_off
    while not watch.at_rest or watch.snapshot["monotonic_s"] < killed_s + LATE_S:
        watch.look()
        assert time.monotonic() < killed_s + within_s, (
            f"{within_s} s after the kill: {watch.snapshot['lease']}, {watch.snapshot['restore']}, "
            f"differing: {watch.differing()}"
        )
        time.sleep(0.05)
    watch.look()  # how far the restore is was said after the options of that look were read
    assert watch.lost_events == lost_before, "what happened since the kill cannot be told"
    return Aftermath(
        armed=armed,
        in_flight=in_flight,
        compaction_off=off,
        begun_s=watch.first("restore_begin", killed_s),
        back_s=watch.first("restore_end", killed_s),
        waits=dict(watch.waits),
        steps=[event.get("detail", "") for event in watch.events if event["kind"] == "restore_step"],
    )


def _stop_and_files(snapshot: Json, name: str) -> tuple[int, int, int]:
    """Return the stop trigger, the level-0 files, and how often they have stopped writes."""
    options, family = snapshot["options"]["column_families"][name], snapshot["column_families"][name]
    stops = (family["stall_counts"] or {}).get("l0_stops", 0)
    return int(options["level0_stop_writes_trigger"]), family["properties"][L0_FILES], stops


def _see_stop_trigger(name: str, before: tuple[int, int, int], now: tuple[int, int, int]) -> None:
    """Fail when the trigger came down on the files there are.

    The two looks are close: files flushed after it came down are in the second count, those
    compacted before in the first. RocksDB itself counts a stop at once when the trigger is too low.
    """
    if now[0] >= before[0]:
        return
    said = f"the stop trigger of {name} was lowered from {before[0]} to {now[0]} over {before[1]} files, then {now[1]}"
    assert min(before[1], now[1]) < now[0], said
    assert now[2] == before[2], f"{said}, and writes were stopped"
