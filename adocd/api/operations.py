"""The operations of REST v1 as data: what the document calls them, which of them only read, and what they take."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_READING = frozenset({"get", "head"})
#: What takes no body is sent one by some clients all the same, such as `{}`; and the page's visitor sends a token.
_SMALL_BYTES = 4 << 10
#: A reason of 500 characters, each of which JSON may write as twelve, and a name or two.
_WORDS_BYTES = 16 << 10
#: A policy's largest, all parameters of several laws, takes 3 KiB; laws of other packages have their own.
_POLICY_BYTES = 64 << 10


class RestOperation(NamedTuple):
    """An operation of the document.

    `reads`: it changes nothing, though its method is none that only reads. `body_bytes`: so much its body may have.
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
    ("get", "/v1/targets/{target}/samples"): RestOperation("listSamples", "targets"),
    ("get", "/v1/targets/{target}/history"): RestOperation("getHistory", "targets"),
    ("get", "/v1/targets/{target}/decisions"): RestOperation("listDecisions", "targets"),
    ("get", "/v1/targets/{target}/snapshot"): RestOperation("getSnapshot", "targets"),
    ("get", "/v1/targets/{target}/policy"): RestOperation("getPolicy", "policy"),
    ("put", "/v1/targets/{target}/policy"): RestOperation("setPolicy", "policy", body_bytes=_POLICY_BYTES),
    ("delete", "/v1/targets/{target}/policy"): RestOperation("resetPolicy", "policy"),
    ("post", "/v1/targets/{target}/policy/difference"): RestOperation(
        "comparePolicy", "policy", reads=True, body_bytes=_POLICY_BYTES
    ),
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

#: Whatever stands for a parameter is one step of the path.
_FORMS = {
    (method, re.compile("[^/]+".join(map(re.escape, re.split(r"{\w+}", path))))): operation
    for (method, path), operation in OPERATIONS.items()
    if operation.reads or operation.body_bytes != _SMALL_BYTES
}


def is_reading(method: str, path: str) -> bool:
    """Tell whether a request only reads, by its method and its decoded path; an unknown one does by its method."""
    if (method := method.lower()) in _READING:
        return True
    known = _known(method, path)
    return known is not None and known.reads


def most_body_bytes(method: str, path: str) -> int:
    """Return how many bytes the body of a request may have, by its method and its decoded path."""
    known = _known(method.lower(), path)
    return _SMALL_BYTES if known is None else known.body_bytes


def _known(method: str, path: str) -> RestOperation | None:
    """Find what is more than its method says."""
    meant = (operation for (known, form), operation in _FORMS.items() if known == method and form.fullmatch(path))
    return next(meant, None)
