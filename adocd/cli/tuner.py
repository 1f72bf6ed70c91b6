"""Whether the tuner helps or hurts, as the page says it, from the same figures."""

from dataclasses import asdict
from typing import Any

from adocd.api.client import RestClient, RestError
from adocd.api.web.page.model import verdict

_OPERATIONS = 50


def verdict_of(client: RestClient, target: dict[str, Any]) -> dict[str, Any] | None:
    """Judge a target's policy; None where nothing has been measured yet, and with a daemon that keeps no history.

    `target` is what REST says of it. Raises NoDaemon.
    """
    where = f"/v1/targets/{target['id']}/history"
    try:
        points = client.get(where, resolution="1s")["points"]
        if not points:
            return None
        operations = client.get("/v1/operations", target=target["id"], limit=_OPERATIONS)["operations"]
        began = verdict.began_unix_s(operations[::-1], target["id"])
        older = []
        if began is not None:
            begin = began - verdict.SPAN_S
            older = client.get(where, resolution="1m", from_unix_s=str(begin), to_unix_s=str(began))["points"]
    except RestError:
        return None
    return asdict(verdict.verdict(target, began, verdict.joined(older, points), points[-1]["unix_s"]))
