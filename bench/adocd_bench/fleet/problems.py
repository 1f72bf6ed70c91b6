"""What a simulated agent refuses, as the protocol's problem details."""

import http
import json


class SimulatedRefusal(Exception):
    """A request that is refused: HTTP status, machine word, and one sentence."""

    def __init__(self, status: int, code: str, detail: str, **more: str) -> None:
        super().__init__(detail)
        self.status = status
        title = http.HTTPStatus(status).phrase
        words = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
        self.body = json.dumps(words | more).encode()
