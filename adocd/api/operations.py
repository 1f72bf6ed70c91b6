"""The operations of REST v1 as data: what the document calls them, and which of them only read."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_READING = frozenset({"get", "head"})


class Operation(NamedTuple):
    """An operation of the document. `reads`: it changes nothing, though its method is none that only reads."""

    id: str
    tag: str
    reads: bool = False


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
    ("put", "/v1/targets/{target}/policy"): Operation("setPolicy", "policy"),
    ("delete", "/v1/targets/{target}/policy"): Operation("resetPolicy", "policy"),
    ("post", "/v1/targets/{target}/policy/difference"): Operation("comparePolicy", "policy", reads=True),
    ("get", "/v1/targets/{target}/overrides"): Operation("listOverrides", "overrides"),
    ("put", "/v1/targets/{target}/overrides/{option}"): Operation("setOverride", "overrides"),
    ("delete", "/v1/targets/{target}/overrides/{option}"): Operation("removeOverride", "overrides"),
    ("get", "/v1/overrides"): Operation("listOverridesOfAll", "overrides"),
    ("put", "/v1/overrides/{option}"): Operation("setOverrideOfAll", "overrides"),
    ("delete", "/v1/overrides/{option}"): Operation("removeOverrideOfAll", "overrides"),
    ("post", "/v1/targets/{target}/pause"): Operation("pause", "stop"),
    ("post", "/v1/targets/{target}/resume"): Operation("resume", "stop"),
    ("post", "/v1/targets/{target}/restore"): Operation("restore", "stop"),
    ("post", "/v1/pause"): Operation("pauseAll", "stop"),
    ("post", "/v1/resume"): Operation("resumeAll", "stop"),
    ("post", "/v1/restore"): Operation("restoreAll", "stop"),
    ("get", "/v1/targets/{target}/lint"): Operation("lint", "why"),
    ("get", "/v1/targets/{target}/diagnosis"): Operation("explain", "why"),
    ("get", "/v1/events"): Operation("followEvents", "follow"),
    ("get", "/v1/operations"): Operation("listOperations", "follow"),
    ("get", "/v1/tokens"): Operation("listTokens", "tokens"),
    ("post", "/v1/tokens"): Operation("makeToken", "tokens"),
    ("delete", "/v1/tokens/{name}"): Operation("revokeToken", "tokens"),
    ("get", "/v1/vitals"): Operation("getVitals", "daemon"),
}

#: Whatever stands for a parameter is one step of the path.
_READS = {
    (method, re.compile("[^/]+".join(map(re.escape, re.split(r"{\w+}", path)))))
    for (method, path), operation in OPERATIONS.items()
    if operation.reads
}


def is_reading(method: str, path: str) -> bool:
    """Tell whether a request only reads, by its method and its decoded path; an unknown one does by its method."""
    method = method.lower()
    return method in _READING or any(known == method and form.fullmatch(path) for known, form in _READS)
