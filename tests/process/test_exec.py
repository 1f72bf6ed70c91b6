"""`adocd exec`: the program runs as if started by itself, and what cannot be attached to is said."""

from __future__ import annotations

import ast
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adocd.process import compiled, native
from adocd.process import exec as program
from tests.cli.harness import BIN, command, environment_of
from tests.conformance.hosts import wait_for_agent
from tests.support.java import java_command
from tests.support.programs import Program
from tests.support.waiting import eventually


def test_the_programs_status_and_output_are_its_own(run_dir: Path, native_agent_library: Path) -> None:
    done = command("adocd", "exec", "--", "sh", "-c", "echo out; echo err >&2; exit 42", run_dir=run_dir)
    assert (done.status, done.out, done.err) == (42, "out\n", "err\n")


def test_a_program_that_never_opens_rocksdb(run_dir: Path, native_agent_library: Path, native_programs: Path) -> None:
    path = str(native_programs / "never_opens")
    done = command("adocd", "exec", "--", path, run_dir=run_dir)
    assert done.status == 0, "the exit code is the program's"
    assert f"{path} ended without opening a RocksDB database under the agent" in done.err


def test_a_database_that_is_only_read_keeps_the_programs_exit_code(run_dir: Path, native_agent_library: Path) -> None:
    bench = ["db_bench", "--benchmarks=fillseq", "--num=10", f"--db={run_dir / 'db'}"]
    subprocess.run(bench, capture_output=True, check=True)
    done = command("adocd", "exec", "--", "ldb", f"--db={run_dir / 'db'}", "scan", run_dir=run_dir)
    assert done.status == 0
    assert len(done.out.splitlines()) == 10
    assert "ended without opening a RocksDB database under the agent: it opened none, only to read" in done.err


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_of_a_launcher_nothing_is_said(run_dir: Path, native_agent_library: Path, shell: str) -> None:
    """Whether its children opened databases is not known."""
    bench = f"db_bench --benchmarks=fillseq --num=10 --db={run_dir / 'db'}"
    done = command("adocd", "exec", "--", shell, "-c", f"{bench}; exit 0", run_dir=run_dir)
    assert done.status == 0
    assert "fillseq" in done.out
    assert "ended without" not in done.err
    assert {path.name for path in run_dir.iterdir()} == {"db"}


def test_it_becomes_the_program(run_dir: Path, native_agent_library: Path) -> None:
    """No process of ours is left between the program and its caller."""
    started = subprocess.Popen(
        [str(BIN / "adocd"), "exec", "--", "sh", "-c", "echo $$; cat /proc/$$/comm"],
        env=environment_of(run_dir), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    out, _ = started.communicate(timeout=60)
    assert out.split() == [str(started.pid), "sh"]


def test_it_becomes_the_program_before_typer_is_imported(run_dir: Path, native_agent_library: Path) -> None:
    """Typer and pydantic would be most of what it costs."""
    started = (
        "import sys, os; from adocd.__main__ import main; os.execve = lambda *_: sys.exit(str(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{started}; sys.argv[1:] = ['exec', '--', 'true']; main()"],
        env=environment_of(run_dir), capture_output=True, text=True, check=False,
    )  # fmt: skip
    modules = ast.literal_eval(done.stderr.splitlines()[-1])
    assert "adocd.process.exec" in modules
    assert {"typer", "pydantic", "asyncio"} & set(modules) == set()


def test_signals_that_python_ignores_are_not_ignored_in_the_program(run_dir: Path, native_agent_library: Path) -> None:
    ignored = "grep SigIgn /proc/self/status"
    here = subprocess.run(ignored.split(), capture_output=True, text=True, check=True).stdout
    done = command("adocd", "exec", "--", *ignored.split(), run_dir=run_dir)
    mask = int(done.out.split()[1], 16)
    assert mask & (1 << (signal.SIGPIPE - 1)) == 0
    assert here


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


@pytest.mark.parametrize("name", ["another name", "script", "by env"])
def test_what_starts_a_jvm_itself_is_refused(run_dir: Path, name: str) -> None:
    """Debian's javac; a script that java interprets."""
    java, javac = shutil.which("java"), shutil.which("javac")
    assert java is not None, "`make java` installs a JDK"
    assert javac is not None
    script = run_dir / "script"
    script.write_text(f"#!{java} --source 17\n" if name == "script" else "#!/usr/bin/env java\n")
    script.chmod(0o755)
    program_ = javac if name == "another name" else str(script)
    command("adocd", "exec", "--", program_, "-version", run_dir=run_dir).failed(
        6, "is not java itself but starts a JVM", "let it start with -javaagent:JAR"
    )


def test_java_gets_the_java_agent_and_says_nothing_of_it(run_dir: Path, java_agent: Path) -> None:
    shown = command("adocd", "exec", "--", "java", "-XshowSettings:vm", "-version", run_dir=run_dir)
    plain = subprocess.run(["java", "-XshowSettings:vm", "-version"], capture_output=True, text=True, check=True)
    assert (shown.status, shown.out, shown.err) == (0, plain.stdout, plain.stderr)


def test_java_opens_a_database_under_the_agent(run_dir: Path, tmp_path: Path, java_agent: Path) -> None:
    program_ = Program([BIN / "adocd", "exec", "--", *java_command(None)], environment_of(run_dir))
    with program_:
        program_.ask("open", tmp_path / "db")
        wait_for_agent(run_dir / f"agent-{program_.pid}.sock")
    assert program_.process.returncode == 0


def test_what_the_java_agent_does_not_add_is_said(run_dir: Path, java_agent: Path) -> None:
    command("adocd", "exec", "--statistics", "all", "--", "java", "-version", run_dir=run_dir).failed(
        6, "are the native agent's", "a JVM's own program sets these"
    )


def test_a_missing_java_agent_is_said_with_the_way_to_get_it(run_dir: Path) -> None:
    command("adocd", "exec", "--", "java", "-version", run_dir=run_dir, XDG_CACHE_HOME=str(run_dir)).failed(
        6, "the Java agent has not been built", "run `adocd agent build --java`"
    )


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_a_static_executable_is_refused(run_dir: Path, flag: str) -> None:
    source, built = run_dir / "main.c", run_dir / "static"
    source.write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", flag, "-o", built, source], check=True)
    command("adocd", "exec", "--", str(built), run_dir=run_dir).failed(
        6, "is a static executable: nothing can be preloaded into it"
    )


def test_a_program_that_is_not_there(run_dir: Path) -> None:
    command("adocd", "exec", "--", "no-such-program", run_dir=run_dir).failed(127, "no-such-program: there is no such")


def test_a_misspelt_option_is_not_taken_for_a_program(run_dir: Path) -> None:
    command("adocd", "exec", "--statistic", "all", "--", "true", run_dir=run_dir).failed(
        2, "exec has no option --statistic (adocd exec --help lists them)"
    )


def test_a_program_that_cannot_be_executed(run_dir: Path, native_agent_library: Path) -> None:
    broken = run_dir / "broken"
    broken.write_bytes(b"\0\0\0")
    broken.chmod(0o755)
    command("adocd", "exec", "--", str(broken), run_dir=run_dir).failed(6, "cannot be started: Exec format error")


@pytest.mark.parametrize("name", ["mariadbd", "mysqld_safe"])
def test_what_loads_myrocks_is_refused(run_dir: Path, tmp_path: Path, name: str) -> None:
    """Its plug-in exports RocksDB's symbols, and those of the agent's librocksdb would come before them."""
    (tmp_path / name).symlink_to("/bin/true")
    command("adocd", "exec", "--", str(tmp_path / name), run_dir=run_dir).failed(
        6, f"{tmp_path / name} may load MyRocks, whose own copy of RocksDB", "observe the database's directory"
    )


def test_a_set_user_id_program_is_refused(run_dir: Path, native_programs: Path) -> None:
    privileged = run_dir / "privileged"
    privileged.write_bytes((native_programs / "never_opens").read_bytes())
    privileged.chmod(0o4755)
    with pytest.raises(program.CannotAttach, match="is set-user-ID or set-group-ID"):
        program.librocksdb_of(privileged)


def test_a_relative_run_directory_is_refused(run_dir: Path) -> None:
    command("adocd", "exec", "--", "true", run_dir=run_dir, ADOCD_RUN_DIR="run").failed(
        2, "ADOCD_RUN_DIR must be a whole path, such as /"
    )


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
    assert done.status == -signal.SIGKILL, "a shell says 137"


def test_bad_settings_are_named(run_dir: Path) -> None:
    command("adocd", "exec", "--statistics", "some", "--", "true", run_dir=run_dir).failed(
        2, "--statistics must be none, tickers or all, not 'some'"
    )
