"""The simulated agent's lease and restore plan, as agents/admin-api.yaml has them."""

from dataclasses import dataclass, field

from adocd.model.change import RestoreStep
from adocd.model.snapshot import Lease, Restore
from adocd.targets.errors import Refused


@dataclass(slots=True)
class LeaseBook:
    """Who may change the database, and until when; time is given with each call."""

    holder: str | None = None
    epoch: int = 0
    ttl_s: float = 0.0
    expires_s: float = 0.0

    def hold(self, holder: str, ttl_s: float, epoch: int | None, now_s: float) -> bool:
        """Acquire or renew; whether it was acquired. Raises Refused."""
        if epoch is not None and (self.holder is None or epoch != self.epoch):
            raise _lost(epoch)
        if self.holder not in (None, holder):
            raise self._held()
        acquired = self.holder is None
        if acquired:
            self.holder = holder
            self.epoch += 1
        self.ttl_s, self.expires_s = ttl_s, now_s + ttl_s
        return acquired

    def require(self, holder: str, epoch: int) -> None:
        """Refuse unless this is the current lease."""
        if self.holder is None:
            if 1 <= epoch <= self.epoch:
                raise _lost(epoch)
            raise Refused(409, "lease_required", "nobody holds the lease: acquire it first")
        if epoch != self.epoch and (self.holder == holder or epoch < self.epoch):
            raise _lost(epoch)
        if self.holder != holder:
            raise self._held()

    def end(self) -> None:
        """Nobody holds it any more."""
        self.holder = None

    def lease(self, now_s: float) -> Lease | None:
        """Say it as a snapshot does."""
        if self.holder is None:
            return None
        return Lease(self.holder, self.epoch, self.ttl_s, max(0.0, self.expires_s - now_s))

    def _held(self) -> Refused:
        return Refused(
            409, "lease_held", f"{self.holder} holds the lease: wait until it ends, or revoke it", self.holder
        )


@dataclass(slots=True)
class RestorePlan:
    """What leads back, and how far that is."""

    steps: list[RestoreStep] = field(default_factory=list)
    state: str = "none"
    waiting_for: str | None = None
    errors: list[str] = field(default_factory=list)

    def arm(self, steps: tuple[RestoreStep, ...]) -> None:
        """Replace the plan."""
        self.steps, self.state = list(steps), "armed" if steps else "none"
        self.waiting_for, self.errors = None, []

    def begin(self) -> bool:
        """Begin to execute what is left; whether there is anything to begin."""
        if not self.steps or self.is_executing:
            return False
        self.state, self.errors = "running", []
        return True

    def interrupt(self) -> None:
        """Stop after the step in progress: what is left belongs to a new lease."""
        if self.steps:
            self.state, self.waiting_for = "armed", None

    @property
    def is_executing(self) -> bool:
        """Whether an execution is under way, waiting or not."""
        return self.state in ("running", "waiting")

    def wait_for(self, condition: str) -> None:
        """Wait: the next step's condition does not hold."""
        self.state, self.waiting_for = "waiting", condition

    def done(self, step: RestoreStep, error: str | None) -> bool:
        """Take a step that was executed out of the plan; whether that was the last one of an execution."""
        if not self.steps or self.steps[0] is not step:
            return False
        del self.steps[0]
        if error is not None:
            self.errors.append(error)
        if self.steps:
            return False
        was_executing = self.is_executing
        self.state, self.waiting_for = ("done" if was_executing else "none"), None
        return was_executing

    def restore(self) -> Restore:
        """Say it as a snapshot does."""
        return Restore(self.state, len(self.steps), self.waiting_for, tuple(self.errors))


def _lost(epoch: int) -> Refused:
    return Refused(409, "lease_lost", f"epoch {epoch} is not the current lease: acquire a new one")
