"""A simulated database whose snapshots are recorded as the daemon takes them."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from adocd import __version__
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.snapshot import Snapshot
from adocd.recording.format import About, NotReplayable, RecordingHeader, Rule
from adocd.recording.lines import LineFile
from adocd.recording.writer import Recorder
from adocd.simulator.clock import Clock
from adocd.simulator.database import SimulatedDatabase
from adocd.simulator.device import Device
from adocd.simulator.target import ID, PATH, SimulatedTarget

#: The memory budget of all memtables, in bytes, whatever memory this machine has.
MEMORY_BUDGET_BYTES = 16 << 30


def begin(path: Path, policy: Policy, tick_s: float, device: Device) -> Recorder:
    """Begin a new file, at virtual second 0. Raises NotReplayable."""
    cap = None if device.bytes_per_s is None else int(device.bytes_per_s)
    recorder = Recorder(LineFile(path), RecordingHeader(ID, PATH, __version__, 0.0, tick_s, device_bytes_per_s=cap))
    recorder.rule(Rule(policy))
    return recorder


class RecordedTarget(SimulatedTarget):
    """Records its snapshots until the recording ends.

    The daemon's loop survives any error of its target, so `finish` reports a file that could not be written.
    """

    def __init__(self, database: SimulatedDatabase, clock: Clock, recorder: Recorder) -> None:
        super().__init__(database, clock)
        self._recorder = recorder
        #: Always the same in a simulation.
        self._about: About | None = None
        #: Done if the recording fails, with why.
        self._failure: asyncio.Future[NotReplayable] = asyncio.get_running_loop().create_future()

    async def snapshot(self, events_after: int | None) -> Snapshot:
        """See Target."""
        snapshot = await super().snapshot(events_after)
        try:
            if not self._recorder.has_ended:
                if self._about is None:
                    self._about = await self._read_about()
                self._recorder.about(self._about)
                self._recorder.snapshot(snapshot, snapshot.monotonic_s)
        except NotReplayable as error:
            self._recorder.close()
            self._failure.set_result(error)
        return snapshot

    async def fail_within(self, seconds: float) -> None:
        """Wait so long, or until the recording fails: the rest of the run would be of no use."""
        await asyncio.wait([self._failure], timeout=seconds)

    def finish(self, decisions: Iterable[DecisionRecord]) -> None:
        """End the recording with the decisions made meanwhile. Raises NotReplayable if it is incomplete."""
        if self._failure.done():
            raise self._failure.result()
        self._recorder.decisions(decisions)
        self._recorder.end("the time was over")

    async def _read_about(self) -> About:
        info, detail = self.info(), await self.detail()
        return About(
            session=detail.session,
            rocksdb_version=info.rocksdb_version,
            agent=f"{info.agent.kind} {info.agent.version}",
            capabilities=detail.capabilities,
            column_families=detail.column_families,
            originals=detail.originals,
            memory_budget_bytes=MEMORY_BUDGET_BYTES,
        )
