"""The file in which an agent answers whoever called it in its program: made here, for the program's user to write."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adocd.process.attach.problem import AttachRefused


@contextlib.contextmanager
def answer_file(pid: int, run_directory: Path) -> Iterator[Path]:
    """Make an empty file that the process's user may write, and remove it at the end. Raises AttachRefused."""
    try:
        owner = Path(f"/proc/{pid}").stat()
    except OSError:
        raise AttachRefused(f"process {pid} has ended meanwhile") from None
    with contextlib.ExitStack() as made:
        try:
            descriptor, name = tempfile.mkstemp(prefix=f"attach-{pid}-", dir=run_directory)
            made.callback(Path(name).unlink, missing_ok=True)
            try:
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise AttachRefused(
                f"no file can be made in {run_directory} for the user of process {pid} ({error.strerror}): run as "
                "root, or set ADOCD_RUN_DIR to a directory that you may write"
            ) from None
        yield Path(name)


def answered(file: Path) -> dict[str, Any] | None:
    """Read the answer, which the agent writes in one call; None while there is none."""
    text = file.read_text(encoding="utf-8")
    content: dict[str, Any] | None = json.loads(text) if text else None
    return content
