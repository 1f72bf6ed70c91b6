"""How long an answer may take to be read: as long as its client goes on reading, within reason."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from fastapi import FastAPI

from adocd.api import limits, server

SIZE = 4 << 20
PIECE = 64 << 10


def read(run_dir: Path, *, pause_s: float) -> tuple[int, float]:
    """Read a large answer, a piece at a time; how much came, and how long it took."""
    app = FastAPI()

    @app.get("/big")
    async def big() -> str:
        return "x" * SIZE

    async def run() -> tuple[int, float]:
        path, came = run_dir / "daemon.sock", 0
        with server.daemon_socket(path) as listener:
            async with server.serving(app, listener):
                reader, writer = await asyncio.open_unix_connection(str(path), limit=PIECE)
                writer.write(b"GET /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                began_s = time.monotonic()
                try:
                    while piece := await reader.read(PIECE):
                        came += len(piece)
                        await asyncio.sleep(pause_s)
                except ConnectionResetError:
                    pass
                writer.close()
                return came, time.monotonic() - began_s

    return asyncio.run(run())


def test_who_reads_steadily_gets_all_of_an_answer(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TRANSFER_S", 1.0)
    came, took_s = read(run_dir, pause_s=0.05)
    assert came > SIZE
    assert took_s > 2.0, "or it would have had time enough"


def test_who_reads_for_ever_does_not(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ANSWER_S", 1.0)
    came, _ = read(run_dir, pause_s=0.1)
    assert 0 < came < SIZE
