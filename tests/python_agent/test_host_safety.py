"""What must not happen to a host: each of these programs died, hung or lost data without a protection."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from adocd_agent.run_dir import _open_to_the_group

BEGIN = """
import ctypes, gc, os, signal, socket, sys, time
import adocd_agent
from rocksdict import Env, Options, Rdict
BASE = sys.argv[1]

def opened(name="db"):
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_max_background_jobs(20)
    return Rdict(f"{BASE}/{name}", options), options

def asked(path, request):
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(path))
    client.sendall(request)
    return client
"""


def run(tmp_path: Path, program: str) -> str:
    """Run a host to its end; what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(program), str(tmp_path)],
        env=dict(os.environ) | {"ADOCD_RUN_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{done.returncode}: {done.stderr}"
    return done.stdout


def test_a_client_that_has_given_up_kills_no_host_that_has_sigpipe_as_it_was(tmp_path: Path) -> None:
    """The daemon gives up after 2 s of a stall, and the agent answers late."""
    said = run(
        tmp_path,
        """
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        db, options = opened()
        attachment = adocd_agent.attach(db, options)
        child = os.fork()
        if child == 0:
            time.sleep(0.3)
            for _ in range(30):
                asked(attachment.socket_path, b"GET /v1/info HTTP/1.1\\r\\n\\r\\n").close()
            os._exit(0)
        ctypes.PyDLL(None).sleep(1)  # keeps the interpreter lock, as a stalled put does
        os.waitpid(child, 0)
        time.sleep(0.5)
        print("alive")
        """,
    )
    assert said == "alive\n"


@pytest.mark.parametrize("fork", ["os.fork", "ctypes.PyDLL(None).fork"])
def test_a_child_touches_nothing_of_its_parents(tmp_path: Path, fork: str) -> None:
    """The second fork runs no hook of Python's: a server in C may do so."""
    said = run(
        tmp_path,
        f"""
        db, options = opened()
        attachment = adocd_agent.attach(db, options)
        child = {fork}()
        if child == 0:
            attachment.detach()
            from adocd_agent.attachment import _at_exit
            _at_exit()
            os._exit(0)
        os.waitpid(child, 0)
        print(attachment.socket_path.exists())
        asked(attachment.socket_path, b"GET /v1/info HTTP/1.1\\r\\n\\r\\n").recv(1)
        print("served")
        """,
    )
    assert said == "True\nserved\n"


def test_a_destructor_may_detach_at_any_moment(tmp_path: Path) -> None:
    """The garbage collector calls it within an attach, or on a thread of the agent's."""
    said = run(
        tmp_path,
        """
        import faulthandler
        faulthandler.dump_traceback_later(40, exit=True)
        class Store:
            def __init__(self, number):
                self.db, options = opened(f"db{number}")
                self.attachment = adocd_agent.attach(self.db, options)
                self.me = self  # for the collector alone
            def __del__(self):
                self.attachment.detach()
                self.db.close()
        gc.set_threshold(50, 2, 2)
        for number in range(25):
            Store(number)
        gc.collect()
        print("done")
        """,
    )
    assert said == "done\n"


def test_a_signal_handler_may_detach_within_an_attach(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
        import faulthandler
        faulthandler.dump_traceback_later(40, exit=True)
        first, options = opened("first")
        attachment = adocd_agent.attach(first, options)
        signal.signal(signal.SIGALRM, lambda *_: attachment.detach())
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        second, options = opened("second")
        for _ in range(10):
            adocd_agent.attach(second, options).detach()
        print("done")
        """,
    )
    assert said == "done\n"


def test_a_detach_waits_for_conditions_and_the_end_of_the_process_does_not(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
        databases, attachments = [], []
        for name in ("detached", "left"):
            db, options = opened(name)
            databases.append(db)
            attachments.append(adocd_agent.attach(db, options))
            attachments[-1]._session.keeper.restore_now = lambda wait_s, name=name: print(name, wait_s)
        attachments[0].detach()
        """,
    )
    assert said == "detached 10.0\nleft 0.0\n"


def test_detach_never_fails(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
        from adocd_agent.keeper import LeaseKeeper
        def fails(*_): raise OSError(24, "Too many open files")
        LeaseKeeper.restore_now = fails
        db, options = opened()
        attachment = adocd_agent.attach(db, options)
        attachment.detach()
        db.close()
        opened()[0].close()
        print("done")
        """,
    )
    assert said == "done\n"


def test_a_database_is_let_go_where_its_pools_cannot_be_given_back(tmp_path: Path) -> None:
    """At the limit of descriptors the threads cannot be counted."""
    said = run(
        tmp_path,
        """
        from adocd_agent.thread_pools import ThreadPools
        def fails(*_): raise OSError(24, "Too many open files")
        db, options = opened()
        attachment = adocd_agent.attach(db, options)
        database, originals = attachment._session.database, attachment._session.originals
        ThreadPools.give_back = fails
        database.end({("thread_pool", "low", ""): "4"}, originals)
        print(list(database._held))
        """,
    )
    assert said == "[]\n"


def test_a_detach_that_cannot_start_a_thread_can_be_repeated(tmp_path: Path) -> None:
    """A destructor may run on a thread of ours."""
    said = run(
        tmp_path,
        """
        import threading
        db, options = opened()
        attachment = adocd_agent.attach(db, options)
        start = threading.Thread.start
        def fails(thread): raise RuntimeError("can't start new thread")
        def detach():
            threading.Thread.start = fails
            attachment.detach()
            threading.Thread.start = start
        apart = threading.Thread(target=detach, name="adocd-sample")
        apart.start()
        apart.join()
        print(attachment._session is not None)
        attachment.detach()
        db.close()
        opened()[0].close()
        """,
    )
    assert said == "True\n"


def test_pools_that_the_host_has_just_shrunk_count_as_it_set_them(tmp_path: Path) -> None:
    """Idle threads end a moment later; an original taken before that would give the host more than it wanted."""
    said = run(
        tmp_path,
        """
        db, options = opened()
        pools = Env()
        pools.set_low_priority_background_threads(1)
        pools.set_high_priority_background_threads(1)
        attachment = adocd_agent.attach(db, options)
        print({pool: attachment._session.originals.thread_pools[pool] for pool in ("low", "high")})
        """,
    )
    assert said == "{'low': 1, 'high': 1}\n"


def test_a_link_in_the_place_of_the_socket_changes_no_others_mode(tmp_path: Path) -> None:
    """In a directory that a group may write to, somebody can swap the new socket for a link."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    victim.chmod(0o600)
    (tmp_path / "link").symlink_to(victim)
    for path in (tmp_path / "link", victim):
        with pytest.raises(OSError, match=r"replaces files|Too many"):
            _open_to_the_group(path)
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600
