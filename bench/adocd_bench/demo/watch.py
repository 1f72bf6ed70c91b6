"""Collects what the daemon knows of one database while it runs."""

from dataclasses import dataclass, field
from pathlib import Path

from adocd_bench.demo.daemon_client import DaemonClient, DaemonSilent, Decision, Sample


@dataclass
class Watch:
    """Everything the daemon has told so far about the database in `directory`.

    A silent daemon is no error here: a poll that gets no answer is `False`, and the next one asks again.

    Attributes:
        sentence: what the daemon's last cycle decided, in its words.

    """

    client: DaemonClient
    directory: Path
    sentence: str = ""
    _target_id: str | None = None
    _samples: dict[tuple[str, int], Sample] = field(default_factory=dict)
    _decisions: dict[int, Decision] = field(default_factory=dict)
    _newest: Sample | None = None

    def poll(self) -> bool:
        """Ask for news; say whether the daemon answered."""
        try:
            self._poll()
        except DaemonSilent:
            return False
        return True

    def is_found(self) -> bool:
        """Say whether the daemon has the database as a target."""
        return self._target_id is not None

    @property
    def samples(self) -> list[Sample]:
        """The last session's samples, oldest first.

        db_bench, for one, opens its database, destroys it and opens it again before it writes: what was measured before
        belongs to another session and does not count.
        """
        if self._newest is None:
            return []
        session = self._newest.session
        mine = [sample for sample in self._samples.values() if sample.session == session]
        return sorted(mine, key=lambda sample: sample.sequence)

    @property
    def decisions(self) -> list[Decision]:
        """All decisions, oldest first."""
        return [self._decisions[sequence] for sequence in sorted(self._decisions)]

    def _poll(self) -> None:
        if self._target_id is None:
            target = self.client.target_at(self.directory)
            if target is None:
                return
            self._target_id = target.id
        status = self.client.status(self._target_id)
        self.sentence = status.sentence or ""
        for sample in self.client.samples(self._target_id, self._after(status.session)):
            self._samples[sample.session, sample.sequence] = sample
            if self._newest is None or sample.monotonic_s >= self._newest.monotonic_s:
                self._newest = sample
        for decision in self.client.decisions(self._target_id):
            self._decisions[decision.sequence] = decision

    def _after(self, session: str | None) -> int:
        """Name the newest sample that is known; sequence numbers start anew with every session."""
        return self._newest.sequence if self._newest and session in (None, self._newest.session) else 0
