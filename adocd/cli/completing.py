"""What a shell completes where a command takes a target, a law, an option or a parameter.

Whoever presses Tab gets nothing rather than an error or a wait: no daemon is no reason to complain.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.model.printable import printable
from adocd.targets import run_dir

#: Nobody waits longer for a shell's Tab.
_PATIENCE_S = 1.0
#: A word to complete, and what it is.
Words = list[tuple[str, str]]


def targets(incomplete: str) -> Words:
    """Complete ids and paths of the daemon's targets, and the last part of a path where it is one's alone."""
    listed = _get("/v1/targets", {"targets": []})["targets"]
    ends = [_end(t["path"]) for t in listed]
    words = [(t["path"], t["state"]) for t in listed]
    words += [(end, t["path"]) for end, t in zip(ends, listed, strict=True) if ends.count(end) == 1]
    if incomplete and not incomplete.startswith("/"):
        words += [(t["id"], t["path"]) for t in listed]
    return _those(incomplete, words)


def laws(incomplete: str) -> Words:
    """Complete a control law; behind a plus sign the next of several."""
    before, plus, _ = incomplete.rpartition("+")
    return _those(incomplete, ((f"{before}{plus}{law['name']}", law["summary"]) for law in _laws()))


def parameters(incomplete: str) -> Words:
    """Complete KEY= of the law that the line names.

    An option without its value is none to the parser yet, which then has read nothing: so the line itself is looked at.
    """
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    known = {law["name"]: law["parameters"] for law in _laws()}
    for word in line.split():
        chosen = word.removeprefix("--policy=").split("+")
        if set(chosen) <= known.keys():
            keys = [
                (f"{law}.{key}=" if len(chosen) > 1 else f"{key}=", "" if default is None else f"default {default}")
                for law in chosen
                for key, default in known[law].items()
            ]
            return _those(incomplete, keys)
    return []


def shaping(incomplete: str) -> Words:
    """Complete KEY= of the shaping guards."""
    words = {"step_factor=": "most that a value grows at once", "pacing_s=": "between two changes"}
    return _those(incomplete, [*words.items(), ("refractory_s=", "rest after a reversal")])


def pins(incomplete: str) -> Words:
    """Complete OPTION= of what can be pinned."""
    from adocd.model.options import OPTIONS  # noqa: PLC0415

    return _those(incomplete, ((f"{name}=", facts.unit) for name, facts in OPTIONS.items() if facts.live))


def pinned(incomplete: str) -> Words:
    """Complete the options that are pinned, on whatever target."""
    found = _get("/v1/overrides", {"overrides": []})["overrides"]
    for target in _get("/v1/targets", {"targets": []})["targets"]:
        found = found + _get(f"/v1/targets/{target['id']}/overrides", {"overrides": []})["overrides"]
    return _those(incomplete, {pin["option"]: str(pin["value"]) for pin in found}.items())


def of(*words: str) -> Callable[[str], Words]:
    """Complete one of these words."""

    def complete(incomplete: str) -> Words:
        return _those(incomplete, ((word, "") for word in words))

    return complete


def _laws() -> list[dict[str, Any]]:
    found = _get("/v1/controllers", None)
    if found is None:
        from adocd.api.rest import controllers as installed  # noqa: PLC0415

        found = installed.listed().model_dump(mode="json")
    return list(found["controllers"])


def _get(path: str, otherwise: Any) -> Any:
    try:
        return RestClient(run_dir.daemon_socket(run_dir.run_dir()), timeout_s=_PATIENCE_S).get(path)
    except (NoDaemon, RestError, OSError):
        return otherwise


def _end(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _those(incomplete: str, words: Iterable[tuple[str, str]]) -> Words:
    """Offer those that begin so; one that is not printable is none to type, and would steer the terminal."""
    meant = [(word, what) for word, what in words if word.startswith(incomplete) and word.isprintable()]
    return [(word, printable(what.splitlines()[0]) if what else "") for word, what in meant]
