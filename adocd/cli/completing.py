"""Shell completion of targets, laws, options and parameters.

Tab offers nothing, rather than failing or blocking, when no daemon answers.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.model.printable import printable
from adocd.targets import run_dir

#: Nobody waits longer than this for Tab.
_PATIENCE_S = 1.0
#: The law that adocd recommends; by name, because the import of the laws takes too long for Tab (registry.BY_DEFAULT).
_BY_DEFAULT = "default"
#: Pairs of a completion and its description.
Words = list[tuple[str, str]]


def targets(incomplete: str) -> Words:
    """Complete ids and paths of the daemon's targets, and the last part of a path if it is unique."""
    listed = _get("/v1/targets", {"targets": []})["targets"]
    ends = [_end(t["path"]) for t in listed]
    words = [(t["path"], t["state"]) for t in listed]
    words += [(end, t["path"]) for end, t in zip(ends, listed, strict=True) if ends.count(end) == 1]
    if incomplete and not incomplete.startswith("/"):
        words += [(t["id"], t["path"]) for t in listed]
    return _those(incomplete, words)


def kept(incomplete: str) -> Words:
    """Complete the paths and ids of the databases that the daemon can forget."""
    listed = _get("/v1/targets", {"targets": [], "kept": []})
    closed = [t for t in listed["targets"] if t["state"] == "closed"] + listed.get("kept", [])
    return _those(incomplete, [*((t["path"], "closed") for t in closed), *((t["id"], t["path"]) for t in closed)])


def laws(incomplete: str) -> Words:
    """Complete a control law or `default`, or after a plus sign the next law of a combination such as `adoc+mimd`."""
    before, plus, _ = incomplete.rpartition("+")
    known = _laws()
    words = [(f"{before}{plus}{law['name']}", law["summary"]) for law in known]
    if not plus:
        words += [(_BY_DEFAULT, f"stands for {law['name']}") for law in known if law["default"]]
    return _those(incomplete, words)


def parameters(incomplete: str) -> Words:
    """Complete KEY= for the parameters of the law on the command line.

    Reads the raw command line: while an option still lacks its value, the parser has parsed nothing.
    """
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    listed = _laws()
    known = {law["name"]: law["parameters"] for law in listed}
    known.update((_BY_DEFAULT, law["parameters"]) for law in listed if law["default"])
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


def conditions(incomplete: str) -> Words:
    """Complete NAME= of a path or label, and after it the values that targets have."""
    name, equals, _ = incomplete.partition("=")
    listed = _get("/v1/targets", {"targets": []})["targets"]
    found: dict[str, set[str]] = {"path": {t["path"] for t in listed}}
    for target in listed:
        for label, value in target.get("labels", {}).items():  # an older daemon has none
            found.setdefault(label, set()).add(value)
    if not equals:
        return _those(incomplete, ((f"{label}=", f"{len(values)} there") for label, values in found.items()))
    return _those(incomplete, ((f"{name}={value}", "") for value in sorted(found.get(name, ()))))


def shaping(incomplete: str) -> Words:
    """Complete KEY= of the shaping guards."""
    words = {"step_factor=": "largest growth of a value in one step", "pacing_s=": "minimum time between two changes"}
    more = [("refractory_s=", "rest after a reversal"), ("judge_s=", "time over which changes are judged")]
    return _those(incomplete, [*words.items(), *more])


def pins(incomplete: str) -> Words:
    """Complete OPTION= for the options that can be pinned."""
    from adocd.model.options import OPTIONS  # noqa: PLC0415

    return _those(incomplete, ((f"{name}=", facts.unit) for name, facts in OPTIONS.items() if facts.live))


def pinned(incomplete: str) -> Words:
    """Complete the options that are pinned on any target."""
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
    except (NoDaemon, RestError, OSError, run_dir.BadRunDir):
        return otherwise


def _end(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _those(incomplete: str, words: Iterable[tuple[str, str]]) -> Words:
    """Offer the words with this prefix, without unprintable ones: nobody can type those, and escapes would act."""
    meant = [(word, what) for word, what in words if word.startswith(incomplete) and word.isprintable()]
    return [(word, printable(what.splitlines()[0]) if what else "") for word, what in meant]
