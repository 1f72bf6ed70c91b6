"""Injects a library into a program by frida, and ends when frida has left it; `injector` runs this file as a program.

frida stops the program's main thread and lets it run code of frida's, which "returns" to an address that is not
mapped; then frida puts the registers back. If whoever does this ends in between, the thread goes on at that address
and the program crashes. The last stop comes after frida says that it has left, and frida's own shutdown does not
always wait for it, or crashes beside it. So it is done in a process of its own, which no Ctrl-C reaches, which ignores
requests to end, and which lives until nothing of frida is in the program any more; then it ends without a shutdown.

Where the kernel does not let frida stop the program, it would write over malloc there instead. So that is tried first,
and two injections into one program wait for each other.
"""

import contextlib
import ctypes
import fcntl
import math
import os
import platform
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_PTRACE_SEIZE = 0x4206
_POLL_S = 0.005
#: How long the main thread may work without a pause, and frida may need to leave, in s.
_PAUSE_WITHIN_S, _LEAVES_WITHIN_S = 2.0, 10.0
#: System calls in which a thread may hold a lock of malloc, by machine: mmap, mprotect, munmap, brk, mremap, madvise.
_OF_MEMORY = {"x86_64": ("9", "10", "11", "12", "25", "28"), "aarch64": ("222", "226", "215", "214", "216", "233")}


def inject(pid: int, library: str, entry: str, said: str) -> str:
    """Load the library, and call its entry with what is said; returns why it cannot be, "" if it could.

    Returns when no thread of the program is stopped any more, and what frida has mapped in it is gone.
    """
    own = Path("/proc", str(pid))
    with _alone(own):
        if reason := _untraceable(pid, own):
            return reason
        before = _writable_code(own)
        reason = _inject(pid, own, library, entry, said)
        if not reason:  # where it failed, some of its memory may stay
            _wait_until(lambda: not _is_traced(own) and _writable_code(own) <= before, _LEAVES_WITHIN_S)
        _wait_until(lambda: not _is_traced(own), math.inf)
        return reason


def _inject(pid: int, own: Path, library: str, entry: str, said: str) -> str:
    """Inject, and wait until frida says that it has left; returns why it could not."""
    import frida  # noqa: PLC0415 (slow to import)

    left = threading.Event()
    device = frida.get_local_device()
    device.on("uninjected", lambda _: left.set())
    if reason := _never_pauses(own):  # last of all: what it does now says little of what it does later
        return reason
    try:
        device.inject_library_file(pid, library, entry, said)
    except Exception as error:  # frida's errors have no common class
        return " ".join(str(error).split()) or type(error).__name__
    _wait_until(lambda: left.is_set() or not own.exists(), math.inf)
    return ""


@contextlib.contextmanager
def _alone(own: Path) -> Iterator[None]:
    """Wait until nobody else injects into the program."""
    directory = os.open(own, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def _untraceable(pid: int, own: Path) -> str:
    """Say why the kernel does not let us stop the program; "" if it does."""
    if _is_traced(own):
        return "a debugger is at it"
    child = os.fork()
    if child == 0:  # its end lets the program go, which it has not stopped
        libc = ctypes.CDLL(None, use_errno=True)
        os._exit(ctypes.get_errno() if libc.ptrace(_PTRACE_SEIZE, pid, None, None) else 0)
    error = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return os.strerror(error) if error > 0 else ""


def _never_pauses(own: Path) -> str:
    """Wait until the main thread is in a system call, for it runs frida's code, which takes malloc's locks."""
    if _wait_until(lambda: _is_in_a_call(own), _PAUSE_WITHIN_S):
        return ""
    return f"its main thread has worked for {_PAUSE_WITHIN_S:.0f} s without a pause, in which it may be stopped"


def _is_in_a_call(own: Path) -> bool:
    number = (own / "syscall").read_text().split()[0]  # or "running", or -1 outside a system call (proc(5))
    return number.isdigit() and number not in _OF_MEMORY.get(platform.machine(), ())


def _is_traced(own: Path) -> bool:
    for status in own.glob("task/*/status"):
        with contextlib.suppress(OSError):  # a thread that has ended
            text = status.read_text(errors="replace")
            if "\nTracerPid:\t0\n" not in text and "\nState:\tZ" not in text:  # what has ended needs nothing any more
                return True
    return False


def _writable_code(own: Path) -> set[str]:
    """Find the memory that can be written and run, as frida's can: by its addresses."""
    with contextlib.suppress(OSError):  # the program has ended
        return {line.split()[0] for line in (own / "maps").read_text(errors="replace").splitlines() if " rwxp " in line}
    return set()


def _wait_until(is_so: Callable[[], bool], at_most_s: float) -> bool:
    end_s = time.monotonic() + at_most_s
    while not is_so():
        if time.monotonic() > end_s:
            return False
        time.sleep(_POLL_S)
    return True


def main() -> None:
    """Inject what the arguments say, and write the reason if it fails."""
    pid, library, entry, said = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with tempfile.TemporaryDirectory() as nobodys:
        # frida writes an identity for remote sessions into the user's configuration, which adocd never uses.
        os.environ["XDG_CONFIG_HOME"] = nobodys
        sys.stdout.write(inject(int(pid), library, entry, said))
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
