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


class Operation(NamedTuple):
    """An operation of the document.

    `reads`: it changes nothing, though its method is none that only reads. `body_bytes`: so much its body may have.
    """

    id: str
    tag: str
    reads: bool = False
    body_bytes: int = _SMALL_BYTES


#: By method and path.
OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("get", "/healthz"): Operation("health", "daemon"),
    ("get", "/v1/controllers"): Operation("listControllers", "daemon"),
    ("get", "/v1/targets"): Operation("listTargets", "targets"),
    ("get", "/v1/targets/{target}"): Operation("getTarget", "targets"),
    ("get", "/v1/targets/{target}/samples"): Operation("listSamples", "targets"),
    ("get", "/v1/targets/{target}/history"): Operation("getHistory", "targets"),
    ("get", "/v1/targets/{target}/decisions"): Operation("listDecisions", "targets"),
    ("get", "/v1/targets/{target}/snapshot"): Operation("getSnapshot", "targets"),
    ("get", "/v1/targets/{target}/policy"): Operation("getPolicy", "policy"),
    ("put", "/v1/targets/{target}/policy"): Operation("setPolicy", "policy", body_bytes=_POLICY_BYTES),
    ("delete", "/v1/targets/{target}/policy"): Operation("resetPolicy", "policy"),
    ("post", "/v1/targets/{target}/policy/difference"): Operation(
        "comparePolicy", "policy", reads=True, body_bytes=_POLICY_BYTES
    ),
    ("get", "/v1/targets/{target}/overrides"): Operation("listOverrides", "overrides"),
    ("put", "/v1/targets/{target}/overrides/{option}"): Operation("setOverride", "overrides", body_bytes=_WORDS_BYTES),
    ("delete", "/v1/targets/{target}/overrides/{option}"): Operation("removeOverride", "overrides"),
    ("get", "/v1/overrides"): Operation("listOverridesOfAll", "overrides"),
    ("put", "/v1/overrides/{option}"): Operation("setOverrideOfAll", "overrides", body_bytes=_WORDS_BYTES),
    ("delete", "/v1/overrides/{option}"): Operation("removeOverrideOfAll", "overrides"),
    ("post", "/v1/targets/{target}/pause"): Operation("pause", "stop", body_bytes=_WORDS_BYTES),
    ("post", "/v1/targets/{target}/resume"): Operation("resume", "stop"),
    ("post", "/v1/targets/{target}/restore"): Operation("restore", "stop"),
    ("post", "/v1/pause"): Operation("pauseAll", "stop", body_bytes=_WORDS_BYTES),
    ("post", "/v1/resume"): Operation("resumeAll", "stop"),
    ("post", "/v1/restore"): Operation("restoreAll", "stop"),
    ("get", "/v1/targets/{target}/lint"): Operation("lint", "why"),
    ("get", "/v1/targets/{target}/diagnosis"): Operation("explain", "why"),
    ("get", "/v1/targets/{target}/verdict"): Operation("getVerdict", "why"),
    ("get", "/v1/events"): Operation("followEvents", "follow"),
    ("get", "/v1/operations"): Operation("listOperations", "follow"),
    ("get", "/v1/tokens"): Operation("listTokens", "tokens"),
    ("post", "/v1/tokens"): Operation("makeToken", "tokens", body_bytes=_WORDS_BYTES),
    ("delete", "/v1/tokens/{name}"): Operation("revokeToken", "tokens"),
    ("get", "/v1/vitals"): Operation("getVitals", "daemon"),
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


def _known(method: str, path: str) -> Operation | None:
    """Find what is more than its method says."""
    meant = (operation for (known, form), operation in _FORMS.items() if known == method and form.fullmatch(path))
    return next(meant, None)
