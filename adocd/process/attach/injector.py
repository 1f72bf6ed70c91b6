"""Loads the agent into a running program, and calls its entry there, by frida (`inject`, in a process of its own).

frida stops the program's main thread for a moment, while that waits in a system call, to start a thread of its own, and
that one loads the library.
What frida loads is a loader of a few lines, and that loads the agent (agents/native/loader/src/loader.c).
"""

import contextlib
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from adocd.process.attach.answer import answer_file, answered
from adocd.process.attach.problem import AttachRefused
from adocd.process.attach.program import has_ended
from adocd.process.bundled import agent_directory
from adocd.process.compiled import NativeError, Product, RocksDb

_ENTRY = "adocd_load"
_INJECT = Path(__file__).with_name("inject.py")
_AT_MOST_S, _POLL_S = 30.0, 0.01
_LEAVES_WITHIN_S = 5.0


def require() -> None:
    """Raise AttachRefused if there is no injector."""
    if importlib.util.find_spec("frida") is None:
        raise AttachRefused("attaching needs frida, which is not installed: pip install 'adocd[attach]'")


def loader(rocksdb: RocksDb) -> Path:
    """Return what frida is to inject: it loads the agent. Compiles it the first time; raises NativeError."""
    try:
        sources = agent_directory("native") / "loader"
    except FileNotFoundError as error:
        raise NativeError(str(error)) from None
    product = Product("loader", "libadocd_loader.so", "adocd_loader", sources)
    return product.kept(rocksdb) if product.is_current(rocksdb) else product.build(rocksdb)


def call(pid: int, loader: Path, agent: Path, run_directory: Path, asked: Mapping[str, str]) -> dict[str, Any]:
    """Load the agent into the program unless it is there, let it do what is asked, and return its answer.

    Raises AttachRefused if it could not be loaded, or has not answered in time; then it may still do what it was asked.
    """
    with answer_file(pid, run_directory) as answer, tempfile.TemporaryFile("w+") as complaint:
        told = {**asked, "agent": str(agent), "answer": str(answer)}
        said = "\n".join(f"{key}={value}" for key, value in told.items())
        injection = subprocess.Popen(
            [sys.executable, "-P", str(_INJECT), str(pid), str(loader), _ENTRY, said],
            stdin=subprocess.DEVNULL, stdout=complaint, stderr=complaint, start_new_session=True,
        )  # fmt: skip
        try:
            return _awaited(answer, pid, injection, complaint)
        finally:  # of an interrupted call, too; whoever goes on first, such as Ctrl-C twice, harms nothing
            with contextlib.suppress(subprocess.TimeoutExpired):
                injection.wait(_LEAVES_WITHIN_S)


def _awaited(answer: Path, pid: int, injection: subprocess.Popen[bytes], complaint: IO[str]) -> dict[str, Any]:
    end_s = time.monotonic() + _AT_MOST_S
    while time.monotonic() < end_s:
        has_gone = has_ended(pid)  # asked before the answer: whoever has ended says nothing more
        is_done = injection.poll() is not None
        if (content := answered(answer)) is not None:
            return content
        if has_gone:
            raise AttachRefused(f"process {pid} has ended meanwhile")
        if is_done:
            complaint.seek(0)
            why = complaint.read().strip().splitlines()
            if injection.returncode and not why:
                why = [f"the injector ended with {injection.returncode}"]
            if why:
                raise AttachRefused(f"the agent cannot be loaded into process {pid}: {why[-1]}")
            raise AttachRefused(
                f"process {pid} has loaded the agent, but it cannot answer: the process's user must be able to write "
                f"into {answer.parent}"
            )
        time.sleep(_POLL_S)
    raise AttachRefused(
        f"the agent in process {pid} has not answered for {_AT_MOST_S:.0f} s; the program goes on without it, and a "
        "later `adocd detach` ends it"
    )
