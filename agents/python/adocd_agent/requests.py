"""Checks the bodies of requests member by member; the error sentence names the wrong member."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from adocd_agent.problems import Refusal, shown

Json = Any
MAX_CHANGES = 1000
MAX_PLAN_STEPS = 5000
MAX_HOLDER = 200
MAX_THREADS = 1024
TTL_S = (0.5, 3600)
#: A request of the protocol has at most five levels, and some 20 values for each change and step.
MAX_DEPTH = 16
MAX_VALUES = 200_000
_PART_BYTES = 16 << 10
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(set(range(256)) - set(_STEPS))


def parse_body(data: bytes) -> Json:
    """Parse JSON; refuse invalid JSON, and JSON larger or deeper than a request: each value takes 60 bytes or more.

    The size is checked before parsing, and mostly outside Python, because the host's own threads wait for this one.
    """
    if not _is_bounded(data):
        raise Refusal(400, "bad_request", "The body nests deeper, or has more values, than any request does.")
    try:
        return json.loads(data, parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "bad_request", f"The body is not JSON: {error}.") from None


def _is_bounded(data: bytes) -> bool:
    bare = _between_strings(data)
    if sum(bare.count(each) for each in (b"[", b"{", b",")) > MAX_VALUES:
        return False
    steps = map(_STEPS.__getitem__, bare.translate(None, _NO_BRACKETS))
    return max(accumulate(steps), default=0) <= MAX_DEPTH


def _between_strings(data: bytes) -> bytes:
    """Remove the strings part by part, because the pieces of the whole body would be many times as large."""
    data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    found, inside = bytearray(), 0
    for begin in range(0, len(data), _PART_BYTES):
        pieces = data[begin : begin + _PART_BYTES].split(b'"')
        found += b"".join(pieces[inside::2])
        inside = (inside + len(pieces) - 1) % 2
    return bytes(found)


def _not_json(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def lease_request(data: bytes) -> dict[str, Json]:
    """Parse and check the body of PUT .../lease."""
    body = _object(parse_body(data), "body", ("holder", "ttl_s"), ("epoch",))
    holder, ttl_s = body["holder"], body["ttl_s"]
    if not isinstance(holder, str) or not 1 <= len(holder) <= MAX_HOLDER:
        raise _fault("holder", f"1 to {MAX_HOLDER} characters are expected")
    if isinstance(ttl_s, bool) or not isinstance(ttl_s, (int, float)) or not TTL_S[0] <= ttl_s <= TTL_S[1]:
        raise _fault("ttl_s", f"{TTL_S[0]} to {TTL_S[1]} seconds are expected")
    epoch = _integer(body["epoch"], "epoch", 1) if "epoch" in body else None
    return {"holder": holder, "ttl_s": ttl_s, "epoch": epoch}


def change_request(data: bytes) -> dict[str, Json]:
    """Parse and check the body of PATCH .../options."""
    known = ("holder", "epoch", "changes", "restore_plan")
    body = _object(parse_body(data), "body", known, ("repeat", "lift_rate_limit"))
    _boolean(body.get("lift_rate_limit", False), "lift_rate_limit")  # there is no rate limiter to lift
    changes, plan = body["changes"], body["restore_plan"]
    if not isinstance(changes, list) or not 1 <= len(changes) <= MAX_CHANGES:
        raise _fault("changes", f"a list of 1 to {MAX_CHANGES} changes is expected")
    if not isinstance(plan, list) or len(plan) > MAX_PLAN_STEPS:
        raise _fault("restore_plan", f"a list of at most {MAX_PLAN_STEPS} steps is expected")
    return {
        "holder": _string(body["holder"], "holder"),
        "epoch": _integer(body["epoch"], "epoch"),
        "changes": [_change(change, f"changes[{number}]") for number, change in enumerate(changes)],
        "restore_plan": [_step(step, f"restore_plan[{number}]") for number, step in enumerate(plan)],
        "repeat": _boolean(body.get("repeat", False), "repeat"),
    }


def _change(value: Json, where: str) -> dict[str, Json]:
    scope = value.get("scope") if isinstance(value, dict) else None
    if scope == "column_family":
        body = _object(value, where, ("scope", "column_family", "options"))
        family = _string(body["column_family"], f"{where}.column_family")
        return {"scope": scope, "column_family": family, "options": _options(body["options"], f"{where}.options")}
    if scope == "database":
        body = _object(value, where, ("scope", "options"))
        return {"scope": scope, "options": _options(body["options"], f"{where}.options")}
    if scope == "rate_limiter":
        body = _object(value, where, ("scope", "bytes_per_s"))
        return {"scope": scope, "bytes_per_s": _integer(body["bytes_per_s"], f"{where}.bytes_per_s", 1)}
    if scope == "thread_pool":
        body = _object(value, where, ("scope", "pool", "threads"))
        if body["pool"] not in ("low", "high", "bottom"):
            raise _fault(f"{where}.pool", "one of low, high, bottom is expected")
        threads = _integer(body["threads"], f"{where}.threads", 1, MAX_THREADS)
        return {"scope": scope, "pool": body["pool"], "threads": threads}
    raise _fault(where, "an object is expected with a scope of column_family, database, rate_limiter or thread_pool")


def _options(value: Json, where: str) -> dict[str, str]:
    if not isinstance(value, dict) or not value:
        raise _fault(where, "an object with at least one option is expected")
    for name, text in value.items():
        if not isinstance(text, str):
            raise _fault(f"{where}.{shown(name)}", "option values are strings, as RocksDB writes them")
    return value


def _step(value: Json, where: str) -> dict[str, Json]:
    body = _object(value, where, ("change",), ("when",))
    step: dict[str, Json] = {"change": _change(body["change"], f"{where}.change")}
    if "when" in body:
        when = _object(body["when"], f"{where}.when", ("column_family", "property", "below"))
        step["when"] = {
            "column_family": _string(when["column_family"], f"{where}.when.column_family"),
            "property": _string(when["property"], f"{where}.when.property"),
            "below": _integer(when["below"], f"{where}.when.below", 1),
        }
    return step


def _object(value: Json, where: str, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _fault(where, "an object is expected")
    for name in required:
        if name not in value:
            raise _fault(where, f"the member {name} is missing")
    for name in value:
        if name not in required and name not in optional:
            raise _fault(where, f"the member {shown(name)} is not known")
    return value


def _string(value: Json, where: str) -> str:
    if not isinstance(value, str):
        raise _fault(where, "a string is expected")
    return value


def _boolean(value: Json, where: str) -> bool:
    if not isinstance(value, bool):
        raise _fault(where, "true or false is expected")
    return value


def _integer(value: Json, where: str, minimum: int | None = None, maximum: int | None = None) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1.0 is an integer in JSON Schema
    if isinstance(value, bool) or not isinstance(value, int):
        raise _fault(where, "a whole number is expected")
    if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
        raise _fault(where, f"at least {minimum} is expected" + ("" if maximum is None else f", at most {maximum}"))
    return value


def _fault(where: str, what: str) -> Refusal:
    return Refusal(422, "bad_request", f"{where}: {what}.")
