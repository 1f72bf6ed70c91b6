"""Injects a library into a program by frida, and ends when frida has left it; `injector` runs it as a program.

Three times frida stops a thread of the program and lets it run code of frida's, which "returns" to an address that is
not mapped; then frida puts the registers back. If whoever does this ends in between, the thread goes on at that address
and the program crashes. The last stop comes after frida says that it has left. So it is done in a process of its own,
which no Ctrl-C reaches, which ignores requests to end, and which lives until frida has nothing more to do there.
"""

import os
import signal
import sys
import tempfile

import frida


def inject(pid: int, library: str, entry: str, said: str) -> str:
    """Load the library, and call its entry with what is said; returns why it cannot be, "" if it could.

    Returns when no thread of the program is stopped any more, and what frida has mapped in it is gone.
    """
    try:
        frida.get_local_device().inject_library_file(pid, library, entry, said)
    except Exception as error:  # frida's errors have no common class
        return str(error)
    finally:
        frida.shutdown()  # waits until the library's thread has ended and its memory is given back
    return ""


def main() -> None:
    """Inject what the arguments say, and write the reason if it fails."""
    pid, library, entry, said = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with tempfile.TemporaryDirectory() as nobodys:
        # frida writes an identity for remote sessions into the user's configuration, which adocd never uses.
        os.environ["XDG_CONFIG_HOME"] = nobodys
        sys.stdout.write(inject(int(pid), library, entry, said))


if __name__ == "__main__":
    main()
