"""The file in which an agent answers whoever called it in its program: made here, for the program's user to write."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def answer_file(pid: int, run_directory: Path) -> Iterator[Path]:
    """Make an empty file that the process's user may write, and remove it at the end. Raises OSError."""
    owner = Path(f"/proc/{pid}").stat()
    descriptor, name = tempfile.mkstemp(prefix=f"attach-{pid}-", dir=run_directory)
    try:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
        os.close(descriptor)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def answered(file: Path) -> dict[str, Any] | None:
    """Read the answer, which the agent writes in one call; None while there is none."""
    text = file.read_text(encoding="utf-8")
    content: dict[str, Any] | None = json.loads(text) if text else None
    return content
