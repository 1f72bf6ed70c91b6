"""The daemon of a run: an `adocd serve` that sees only the run's agents and has its own configuration."""

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.model.policy import Policy
from adocd_bench.errors import RunFailed
from adocd_bench.run.child import Child, child, wait_until

_READY_WITHIN_S = 30.0
_OBSERVE_ONLY = Policy("fixed")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class RunDaemon:
    """A daemon that answers: its process and a client for its REST API."""

    child: Child
    rest: RestClient

    def ask(self, path: str) -> dict[str, Any] | None:
        """GET a path; None if the daemon does not answer or refuses. Raises RunFailed if the answer is no object."""
        try:
            answer = self.rest.get(path)
        except (NoDaemon, RestError):
            return None
        if not isinstance(answer, dict):
            raise RunFailed(f"the daemon's answer to GET {path} is not an object")
        return answer

    def take(self, path: str, answer: dict[str, Any], member: str, as_type: TypeAdapter[_Answer]) -> _Answer:
        """Take a member out of the answer of `path`. Raises RunFailed if it does not have the type."""
        try:
            return as_type.validate_python(answer.get(member))
        except ValidationError as error:
            problem = error.errors()[0]
            place = ".".join(str(part) for part in (member, *problem["loc"]))
            raise RunFailed(f"the daemon's answer to GET {path} has a bad {place}: {problem['msg']}") from None

    def is_healthy(self) -> bool:
        """Say whether the daemon answers that its status is ok."""
        answer = self.ask("/healthz")
        return answer is not None and answer.get("status") == "ok"


@contextlib.contextmanager
def serving(
    room: Path,
    policy: Policy = _OBSERVE_ONLY,
    tick_s: float = 1.0,
    *,
    arbiter: bool = True,
    memory_budget_bytes: int = 0,
    safety: Mapping[str, int] | None = None,
    module: str = "adocd",
) -> Iterator[RunDaemon]:
    """Run `adocd serve` in `room` with a policy while the block runs. Raises RunFailed if it does not start.

    `memory_budget_bytes` of 0 is the configuration's default. `safety` are limits by their names in the configuration,
    where they are not its defaults. `module` is run by Python in place of adocd's own, with the same arguments.
    """
    daemon = {"tick_s": tick_s, "arbiter": arbiter, "memory_budget_bytes": memory_budget_bytes}
    configuration = room / "adocd.toml"  # the machine's own configuration must have no effect
    configuration.write_text(_configuration(policy, daemon, safety or {}), encoding="utf-8")
    command = [sys.executable, "-m", module, "serve", "--config", str(configuration)]
    with child("serve", command, room) as started:
        running = RunDaemon(started, RestClient(room / "daemon.sock"))
        wait_until(running.is_healthy, "adocd serve was not ready", started, within_s=_READY_WITHIN_S)
        yield running


def _configuration(policy: Policy, daemon: Mapping[str, float], safety: Mapping[str, int]) -> str:
    # A JSON string, number or boolean is the same in TOML.
    given = {name: value for name, value in policy.parameters.items() if value is not None}
    parameters = "".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items())
    limits = "".join(f"{name} = {value}\n" for name, value in safety.items())
    settings = "".join(f"{name} = {json.dumps(value)}\n" for name, value in daemon.items())
    return (
        f"[daemon]\n{settings}\n"
        f"[policy]\ncontroller = {json.dumps(policy.controller)}\n\n[policy.parameters]\n{parameters}\n"
        f"[safety]\n{limits}"
    )
