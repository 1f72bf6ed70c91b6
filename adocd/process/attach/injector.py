"""Loads the agent into a running program, and calls its entry there, by frida.

frida stops one thread of the program for a moment, only to start a thread of its own, and that one loads the library:
whatever the stopped thread was in the middle of, malloc perhaps, goes on before anything is loaded.
What frida loads is a loader of a few lines, and that loads the agent (agents/native/loader/src/loader.c).
"""

import contextlib
import functools
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adocd.process.attach.answer import answer_file, answered
from adocd.process.attach.problem import AttachRefused
from adocd.process.bundled import agent_directory
from adocd.process.compiled import NativeError, Product, RocksDb

_ENTRY = "adocd_load"
_AT_MOST_S, _POLL_S = 30.0, 0.01
_LEAVES_WITHIN_S = 5.0
#: frida says that it has left, and then stops the program for a last time, for some milliseconds.
_LAST_STOP_S = 0.05


def require() -> None:
    """Raise AttachRefused if there is no injector."""
    try:
        import frida  # noqa: F401, PLC0415  (an extra, and slow to import)
    except ImportError:
        raise AttachRefused("attaching needs frida, which is not installed: pip install 'adocd[attach]'") from None


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
    with answer_file(pid, run_directory) as answer:
        told = {**asked, "agent": str(agent), "answer": str(answer)}
        with _injected(pid, loader, "\n".join(f"{key}={value}" for key, value in told.items())):
            return _awaited(answer, pid)


@functools.cache
def _device() -> Any:
    """Return frida's device for this machine.

    frida then writes an identity for remote sessions into the user's configuration, which adocd never uses.
    """
    import frida  # noqa: PLC0415

    before = os.environ.get("XDG_CONFIG_HOME")
    with tempfile.TemporaryDirectory() as nobodys:
        os.environ["XDG_CONFIG_HOME"] = nobodys
        try:
            return frida.get_local_device()
        finally:
            if before is None:
                del os.environ["XDG_CONFIG_HOME"]
            else:
                os.environ["XDG_CONFIG_HOME"] = before


@contextlib.contextmanager
def _injected(pid: int, loader: Path, said: str) -> Iterator[None]:
    """Inject, and wait at the end until frida has left the program: until then it stops it again."""
    device, left = _device(), threading.Event()
    injected: list[int] = []

    def uninjected(number: int) -> None:
        if not injected or number in injected:
            left.set()

    device.on("uninjected", uninjected)
    try:
        try:
            injected.append(device.inject_library_file(pid, str(loader), _ENTRY, said))
        except Exception as error:  # frida's errors have no common class
            raise AttachRefused(f"the agent cannot be loaded into process {pid}: {error}") from None
        yield
        left.wait(_LEAVES_WITHIN_S)
        time.sleep(_LAST_STOP_S)
    finally:
        device.off("uninjected", uninjected)


def _awaited(answer: Path, pid: int) -> dict[str, Any]:
    end_s = time.monotonic() + _AT_MOST_S
    while time.monotonic() < end_s:
        if (content := answered(answer)) is not None:
            return content
        if not Path(f"/proc/{pid}").exists():
            raise AttachRefused(f"process {pid} has ended meanwhile")
        time.sleep(_POLL_S)
    raise AttachRefused(
        f"the agent in process {pid} has not answered for {_AT_MOST_S:.0f} s; the program goes on without it, and a "
        "later `adocd detach` ends it"
    )
