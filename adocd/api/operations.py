"""The operations of REST v1 as a table: their ids in the document, which only read, and their largest bodies."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_READING = frozenset({"get", "head"})
#: For operations without a body, since some clients send one such as `{}`; and for a token that a page's visitor sends.
_SMALL_BYTES = 4 << 10
#: A reason of 500 characters, each of which JSON may escape as twelve, and a name or two.
_WORDS_BYTES = 16 << 10
#: The largest policy, all parameters of several of our laws, takes 3 KiB; laws of other packages may need more.
_POLICY_BYTES = 64 << 10


class RestOperation(NamedTuple):
    """An operation of the document.

    `reads`: it changes nothing, although its method is not GET or HEAD. `body_bytes`: its largest body.
    """

    id: str
    tag: str
    reads: bool = False
    body_bytes: int = _SMALL_BYTES


#: By method and path.
OPERATIONS: Mapping[tuple[str, str], RestOperation] = {
    ("get", "/healthz"): RestOperation("health", "daemon"),
    ("get", "/v1/controllers"): RestOperation("listControllers", "daemon"),
    ("get", "/v1/targets"): RestOperation("listTargets", "targets"),
    ("get", "/v1/targets/{target}"): RestOperation("getTarget", "targets"),
    ("delete", "/v1/targets/{target}"): RestOperation("forgetTarget", "targets"),
    ("get", "/v1/targets/{target}/samples"): RestOperation("listSamples", "targets"),
    ("get", "/v1/targets/{target}/history"): RestOperation("getHistory", "targets"),
    ("get", "/v1/targets/{target}/decisions"): RestOperation("listDecisions", "targets"),
    ("get", "/v1/targets/{target}/decisions/of-all-runs"): RestOperation("listDecisionsOfAllRuns", "targets"),
    ("get", "/v1/targets/{target}/snapshot"): RestOperation("getSnapshot", "targets"),
    ("get", "/v1/targets/{target}/policy"): RestOperation("getPolicy", "policy"),
    ("put", "/v1/targets/{target}/policy"): RestOperation("setPolicy", "policy", body_bytes=_POLICY_BYTES),
    ("delete", "/v1/targets/{target}/policy"): RestOperation("resetPolicy", "policy"),
    ("post", "/v1/targets/{target}/policy/difference"): RestOperation(
        "comparePolicy", "policy", reads=True, body_bytes=_POLICY_BYTES
    ),
    ("put", "/v1/policy"): RestOperation("setPolicies", "policy", body_bytes=_POLICY_BYTES),
    ("delete", "/v1/policy"): RestOperation("resetPolicies", "policy"),
    ("get", "/v1/targets/{target}/overrides"): RestOperation("listOverrides", "overrides"),
    ("put", "/v1/targets/{target}/overrides/{option}"): RestOperation(
        "setOverride", "overrides", body_bytes=_WORDS_BYTES
    ),
    ("delete", "/v1/targets/{target}/overrides/{option}"): RestOperation("removeOverride", "overrides"),
    ("get", "/v1/overrides"): RestOperation("listOverridesOfAll", "overrides"),
    ("put", "/v1/overrides/{option}"): RestOperation("setOverrideOfAll", "overrides", body_bytes=_WORDS_BYTES),
    ("delete", "/v1/overrides/{option}"): RestOperation("removeOverrideOfAll", "overrides"),
    ("post", "/v1/targets/{target}/pause"): RestOperation("pause", "stop", body_bytes=_WORDS_BYTES),
    ("post", "/v1/targets/{target}/resume"): RestOperation("resume", "stop"),
    ("post", "/v1/targets/{target}/restore"): RestOperation("restore", "stop"),
    ("post", "/v1/pause"): RestOperation("pauseAll", "stop", body_bytes=_WORDS_BYTES),
    ("post", "/v1/resume"): RestOperation("resumeAll", "stop"),
    ("post", "/v1/restore"): RestOperation("restoreAll", "stop"),
    ("get", "/v1/targets/{target}/lint"): RestOperation("lint", "why"),
    ("get", "/v1/targets/{target}/diagnosis"): RestOperation("explain", "why"),
    ("get", "/v1/targets/{target}/verdict"): RestOperation("getVerdict", "why"),
    ("get", "/v1/events"): RestOperation("followEvents", "follow"),
    ("get", "/v1/operations"): RestOperation("listOperations", "follow"),
    ("get", "/v1/tokens"): RestOperation("listTokens", "tokens"),
    ("post", "/v1/tokens"): RestOperation("makeToken", "tokens", body_bytes=_WORDS_BYTES),
    ("delete", "/v1/tokens/{name}"): RestOperation("revokeToken", "tokens"),
    ("get", "/v1/vitals"): RestOperation("getVitals", "daemon"),
}

#: Patterns of the paths that need one; a parameter is exactly one segment of the path.
_FORMS = {
    (method, re.compile("[^/]+".join(map(re.escape, re.split(r"{\w+}", path))))): operation
    for (method, path), operation in OPERATIONS.items()
    if operation.reads or operation.body_bytes != _SMALL_BYTES
}


def is_reading(method: str, path: str) -> bool:
    """Whether a request only reads, by its method and decoded path; by the method alone if the path is unknown."""
    if (method := method.lower()) in _READING:
        return True
    known = _known(method, path)
    return known is not None and known.reads


def most_body_bytes(method: str, path: str) -> int:
    """Return the largest body of a request in bytes, by its method and decoded path."""
    known = _known(method.lower(), path)
    return _SMALL_BYTES if known is None else known.body_bytes


def _known(method: str, path: str) -> RestOperation | None:
    """Find the operation, if it is one that differs from the defaults."""
    meant = (operation for (known, form), operation in _FORMS.items() if known == method and form.fullmatch(path))
    return next(meant, None)
