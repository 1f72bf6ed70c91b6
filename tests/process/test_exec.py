"""`adocd exec`: the program runs as if started by itself, and what cannot be attached to is said."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from adocd.process import compiled, native
from adocd.process import exec as program
from tests.cli.harness import BIN, command, environment_of
from tests.support.waiting import eventually


def test_the_programs_status_and_output_are_its_own(run_dir: Path, native_agent_library: Path) -> None:
    done = command("adocd", "exec", "--", "sh", "-c", "echo out; echo err >&2; exit 42", run_dir=run_dir)
    assert (done.status, done.out, done.err) == (42, "out\n", "err\n")


def test_a_program_that_never_opens_rocksdb(run_dir: Path, native_agent_library: Path, native_programs: Path) -> None:
    path = str(native_programs / "never_opens")
    command("adocd", "exec", "--", path, run_dir=run_dir).failed(
        7, path, "ended without opening a RocksDB database under the agent"
    )


def test_a_program_that_opens_rocksdb(run_dir: Path, native_agent_library: Path) -> None:
    directory = run_dir / "db"
    done = command(
        "adocd", "exec", "--", "db_bench", "--benchmarks=fillseq", "--num=1000", f"--db={directory}", run_dir=run_dir
    )
    assert done.status == 0
    assert "fillseq" in done.out
    assert list(run_dir.glob("agent-*.sock")) == []


def test_a_program_linked_statically_to_rocksdb(
    run_dir: Path, native_agent_library: Path, native_programs: Path
) -> None:
    path = str(native_programs / "static_rocksdb")
    command("adocd", "exec", "--", path, run_dir=run_dir).failed(6, path, "is linked statically to RocksDB")


def test_a_program_that_is_not_there(run_dir: Path) -> None:
    command("adocd", "exec", "--", "no-such-program", run_dir=run_dir).failed(127, "no-such-program: there is no such")


def test_a_program_that_cannot_be_executed(run_dir: Path, native_agent_library: Path) -> None:
    broken = run_dir / "broken"
    broken.write_bytes(b"\0\0\0")
    broken.chmod(0o755)
    command("adocd", "exec", "--", str(broken), run_dir=run_dir).failed(6, "cannot be started: Exec format error")


def test_a_set_user_id_program_is_refused(run_dir: Path, native_programs: Path) -> None:
    privileged = run_dir / "privileged"
    privileged.write_bytes((native_programs / "never_opens").read_bytes())
    privileged.chmod(0o4755)
    with pytest.raises(program.CannotAttach, match="is set-user-ID or set-group-ID"):
        program.librocksdb_of(privileged)


def test_a_missing_agent_is_said_with_the_way_to_get_it(run_dir: Path) -> None:
    command("adocd", "exec", "--", "db_bench", run_dir=run_dir, XDG_CACHE_HOME=str(run_dir)).failed(
        6, "there is no native agent for", "it has not been built; run `adocd agent build`"
    )


def test_an_agent_for_another_librocksdb_is_not_taken(run_dir: Path) -> None:
    other = run_dir / "adocd" / "agent" / "0123abcd" / native.LIBRARY
    other.parent.mkdir(parents=True)
    other.touch()
    command("adocd", "exec", "--", "db_bench", run_dir=run_dir, XDG_CACHE_HOME=str(run_dir)).failed(
        6, "it was built for another one (0123abcd); run `adocd agent build`"
    )


def test_an_agent_from_other_sources_is_not_taken(run_dir: Path) -> None:
    mine = run_dir / "adocd" / "agent" / compiled.rocksdb().build_id / native.LIBRARY
    mine.parent.mkdir(parents=True)
    mine.touch()
    command("adocd", "agent", "path", run_dir=run_dir, XDG_CACHE_HOME=str(run_dir)).failed(
        6, "was built from other sources", "run `adocd agent build`"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_signals_are_passed_on(run_dir: Path, native_agent_library: Path, number: signal.Signals) -> None:
    ready = run_dir / "ready"
    script = f"trap 'exit 33' TERM USR1; touch {ready}; while :; do sleep 0.05; done"
    process = subprocess.Popen([str(BIN / "adocd"), "exec", "--", "sh", "-c", script], env=environment_of(run_dir))
    eventually(ready.exists, what="the program runs")
    process.send_signal(number)
    assert process.wait(60) == 33


def test_a_program_that_is_killed(run_dir: Path, native_agent_library: Path) -> None:
    done = command("adocd", "exec", "--", "sh", "-c", "kill -KILL $$", run_dir=run_dir)
    assert done.status == 128 + signal.SIGKILL


def test_bad_settings_are_named(run_dir: Path) -> None:
    command("adocd", "exec", "--statistics", "some", "--", "true", run_dir=run_dir).failed(
        2, "--statistics must be none, tickers or all, not 'some'"
    )
