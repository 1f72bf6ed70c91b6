"""How `adocd serve` supervises its web process."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest

from adocd.process import web_side

#: Says that it goes on, and ends; or says so, and hangs.
ENDS = "import os, sys; os.write(1, b'.'); sys.exit(3)"
HANGS = "import os, signal; os.write(1, b'.'); signal.pause()"


def attended(program: str) -> int:
    async def run() -> int:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
        return await web_side._attend(process)

    return asyncio.run(run())


def test_its_status_is_known() -> None:
    assert attended(ENDS) == 3


def test_one_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(web_side, "_WEB_SILENT_S", 0.5)
    assert attended(HANGS) == -signal.SIGKILL
    assert "the web process has hung" in caplog.text
