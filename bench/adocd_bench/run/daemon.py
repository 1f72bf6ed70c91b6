"""The daemon of a run: `adocd serve` that sees the run's agents alone, with a configuration of its own."""

import contextlib
import json
import sys
from collections.abc import Iterator
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
    """A daemon that answers: its process, and its REST."""

    child: Child
    rest: RestClient

    def ask(self, path: str) -> dict[str, Any] | None:
        """Read a path of its REST; None while it does not answer there. Raises RunFailed for what is no object."""
        try:
            answer = self.rest.get(path)
        except (NoDaemon, RestError):
            return None
        if not isinstance(answer, dict):
            raise RunFailed(f"the daemon's answer to GET {path} is not an object")
        return answer

    def take(self, path: str, answer: dict[str, Any], member: str, as_type: TypeAdapter[_Answer]) -> _Answer:
        """Take a member out of what `path` answered. Raises RunFailed where it is not what it should be."""
        try:
            return as_type.validate_python(answer.get(member))
        except ValidationError as error:
            problem = error.errors()[0]
            place = ".".join(str(part) for part in (member, *problem["loc"]))
            raise RunFailed(f"the daemon's answer to GET {path} has a bad {place}: {problem['msg']}") from None

    def is_healthy(self) -> bool:
        """Say whether it answers, and is well."""
        answer = self.ask("/healthz")
        return answer is not None and answer.get("status") == "ok"


@contextlib.contextmanager
def serving(room: Path, policy: Policy = _OBSERVE_ONLY, tick_s: float = 1.0) -> Iterator[RunDaemon]:
    """Run `adocd serve` in `room` with a policy while the block runs. Raises RunFailed where it does not come up."""
    configuration = room / "adocd.toml"  # this machine's own configuration must not take part
    configuration.write_text(_configuration(policy, tick_s), encoding="utf-8")
    command = [sys.executable, "-m", "adocd", "serve", "--config", str(configuration)]
    with child("serve", command, room) as started:
        daemon = RunDaemon(started, RestClient(room / "daemon.sock"))
        wait_until(daemon.is_healthy, "adocd serve was not ready", started, within_s=_READY_WITHIN_S)
        yield daemon


def _configuration(policy: Policy, tick_s: float) -> str:
    # A JSON string, number or boolean is the same in TOML.
    given = {name: value for name, value in policy.parameters.items() if value is not None}
    parameters = "".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items())
    return (
        f"[daemon]\ntick_s = {tick_s:g}\n\n[policy]\ncontroller = {json.dumps(policy.controller)}\n\n"
        f"[policy.parameters]\n{parameters}"
    )
