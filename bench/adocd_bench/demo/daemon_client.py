"""The daemon's REST, as far as a run reads it: the only place that knows its paths and members."""

from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd_bench.errors import BenchError

_DECISIONS_LIMIT = 1000


class DaemonSilent(BenchError):
    """The daemon's socket is not there yet, or it does not answer as expected."""


class _Value(BaseModel):
    """Members that are not named here are ignored, as minor versions add some."""

    model_config = ConfigDict(frozen=True, extra="ignore")


_Kind = TypeVar("_Kind", bound=_Value)


class ColumnFamilyOptions(_Value):
    """The live options of a column family that are shown."""

    write_buffer_size_bytes: int = 0


class ColumnFamily(_Value):
    """One column family in a sample."""

    name: str
    l0_files: int = 0
    immutable_memtables: int = 0
    options: ColumnFamilyOptions = ColumnFamilyOptions()


class Counters(_Value):
    """Cumulative since the session's open; `stall_micros` is microseconds that writers waited.

    None where the agent cannot read a ticker.
    """

    writes: int | None = None
    stall_micros: int | None = None


class Sample(_Value):
    """One tick of one session; `monotonic_s` is the host's clock, `stopped_s` and `delayed_s` are cumulative."""

    sequence: int
    session: str
    monotonic_s: float
    interval_s: float = 0.0
    writes_per_s: float | None = None
    condition: Literal["normal", "delayed", "stopped"] = "normal"
    counters: Counters = Counters()
    stopped_s: float = 0.0
    delayed_s: float = 0.0
    background_jobs: int | None = None
    column_families: tuple[ColumnFamily, ...] = ()


class Setting(_Value):
    """A knob's new value."""

    knob: str
    value: int
    column_family: str | None = None


class Decision(_Value):
    """What the law decided, why, and what became of it."""

    sequence: int
    monotonic_s: float
    settings: tuple[Setting, ...] = ()
    signal: str = ""
    rule: str = ""
    reason: str = ""
    outcome: str | None = None


class Target(_Value):
    """A target in the list."""

    id: str
    path: str


class TargetStatus(_Value):
    """One target: its present session, and the sentence that says what the last cycle saw and did."""

    id: str
    path: str
    session: str | None = None
    sentence: str | None = None


class _Targets(_Value):
    targets: tuple[Target, ...] = ()


class _Samples(_Value):
    samples: tuple[Sample, ...] = ()


class _Decisions(_Value):
    decisions: tuple[Decision, ...] = ()


class DaemonClient:
    """Reads a daemon over its Unix socket; every method raises DaemonSilent when it cannot."""

    def __init__(self, socket_path: Path) -> None:
        """Take the path of the daemon's socket; nothing is connected before the first call."""
        self._rest = RestClient(socket_path)

    def is_healthy(self) -> bool:
        """Say whether the daemon answers."""
        try:
            return bool(self._get("/healthz").get("status") == "ok")
        except DaemonSilent:
            return False

    def target_at(self, directory: Path) -> Target | None:
        """Find the target whose database is in `directory`; None while there is none."""
        targets = self._parsed(_Targets, "/v1/targets").targets
        return next((target for target in targets if Path(target.path).resolve() == directory), None)

    def status(self, target_id: str) -> TargetStatus:
        """Read one target."""
        return self._parsed(TargetStatus, f"/v1/targets/{target_id}")

    def samples(self, target_id: str, after: int) -> tuple[Sample, ...]:
        """Read the target's samples with a sequence number above `after`, oldest first."""
        return self._parsed(_Samples, f"/v1/targets/{target_id}/samples?after={after}").samples

    def decisions(self, target_id: str) -> tuple[Decision, ...]:
        """Read the target's latest decisions."""
        path = f"/v1/targets/{target_id}/decisions?limit={_DECISIONS_LIMIT}"
        return self._parsed(_Decisions, path).decisions

    def _parsed(self, kind: type[_Kind], path: str) -> _Kind:
        try:
            return kind.model_validate(self._get(path))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise DaemonSilent(f"the daemon's answer to GET {path} has a bad {place}: {first['msg']}") from error

    def _get(self, path: str) -> dict[str, Any]:
        try:
            value = self._rest.get(path)
        except (NoDaemon, RestError, ValueError) as error:
            raise DaemonSilent(f"the daemon did not answer GET {path}: {error}") from error
        if not isinstance(value, dict):
            raise DaemonSilent(f"the daemon's answer to GET {path} is not an object")
        return value
