"""What the agent does to its host: nothing that the host did not ask for, and never its end."""

from __future__ import annotations

import ast
import sys
import time
from pathlib import Path

import adocd_agent
import pytest
import rocksdict

from tests.conformance.python_host import LIFECYCLE
from tests.python_agent.conftest import Scene
from tests.support.changes import back, family, threads
from tests.support.programs import Program, environment
from tests.support.waiting import eventually

PACKAGE = Path(adocd_agent.__file__).parent


def test_a_child_of_fork_touches_nothing(scene: Scene) -> None:
    scene.ask("open", "second")
    child = scene.program.ask("fork_child")
    with scene.client() as client:
        db = client.only_database()["id"]
        epoch = client.acquire(db)
        assert client.info()["pid"] == scene.program.pid
        assert scene.program.ask("end_child", child) == "0"
        assert scene.socket_path.exists()
        assert client.put_lease(db, "tester", epoch=epoch).status == 200
    scene.ask("put", 10)
    scene.ask("close")


def test_a_connection_ends_with_the_parent_though_a_child_lives_on(scene: Scene) -> None:
    scene.ask("open")
    scene.program.ask("fork_child")
    with scene.client() as client:
        client.info()
        scene.ask("detach")
        scene.ask("close")
        assert scene.program.finish() == 0
        with pytest.raises((ConnectionError, FileNotFoundError)):
            client.info()


def test_threads_are_few_and_daemons(scene: Scene) -> None:
    assert scene.program.ask("threads") == "MainThread"
    scene.ask("open")
    assert scene.program.ask("threads").split() == ["MainThread", "adocd-http", "adocd-sample"]
    with scene.client() as client:
        db = client.only_database()["id"]
        client.acquire(db)
        assert "adocd-apply" in scene.program.ask("threads").split()
        scene.ask("close")
    eventually(lambda: scene.program.ask("threads").split() == ["MainThread", "adocd-http", "adocd-sample"])


@pytest.mark.parametrize("where", ["missing", "x" * 100])
def test_without_a_run_directory_it_says_so_once_and_leaves_the_host_alone(tmp_path: Path, where: str) -> None:
    run_dir = tmp_path / where
    if where != "missing":
        run_dir.mkdir()
    with Program([sys.executable, LIFECYCLE], environment(None, run_dir)) as program:
        for name in ("one", "two"):
            error = program.ask("open", tmp_path / name)
            assert "ADOCD_RUN_DIR" in error
            program.ask("put", tmp_path / name, 10)
            program.ask("detach", tmp_path / name)
            program.ask("close", tmp_path / name)
        [line] = program.stderr().splitlines()
        assert line == f"adocd agent: {error}"


def test_it_can_be_switched_off(tmp_path: Path, run_dir: Path) -> None:
    with Program([sys.executable, LIFECYCLE], environment(None, run_dir, ADOCD_AGENT="off")) as program:
        assert "off" in program.ask("open", tmp_path / "db")
        assert program.ask("threads") == "MainThread"
        assert program.stderr() == ""
    assert list(run_dir.iterdir()) == []


@pytest.mark.parametrize("wrong", [None, "path", 7, rocksdict.Options(), object])
def test_what_is_no_rdict_is_a_mistake_of_the_program(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"db must be a rocksdict\.Rdict"):
        adocd_agent.attach(wrong)


def test_a_closed_database_and_wrong_options_are_mistakes(tmp_path: Path) -> None:
    db = rocksdict.Rdict(str(tmp_path / "db"))
    with pytest.raises(TypeError, match="options must be"):
        adocd_agent.attach(db, "options")
    with pytest.raises(TypeError, match="column_families"):
        adocd_agent.attach(db, None, {"x": 1})
    db.close()
    with pytest.raises(ValueError, match="closed"):
        adocd_agent.attach(db)


def test_attaching_twice_is_a_mistake(scene: Scene) -> None:
    scene.ask("open")
    assert "attached already" in scene.program.try_ask("attach", scene.path)
    with scene.client() as client:
        assert client.only_database()["id"]
    scene.ask("detach")
    scene.ask("attach")


def test_a_read_only_instance_is_observed_and_not_changed(scene: Scene) -> None:
    scene.ask("open")
    scene.ask("put", 100)
    scene.ask("close")
    scene.ask("open_read_only")
    with scene.client() as client:
        described = client.only_database()
        capabilities = described["capabilities"]
        assert capabilities["column_family_options"] == capabilities["thread_pools"] == []
        db = described["id"]
        snapshot = client.fresh_snapshot(db)
        assert snapshot["options"]["database"]["max_background_jobs"] == "2"
        assert snapshot["column_families"]["default"]["properties"]["rocksdb.num-files-at-level0"] == 1
        epoch = client.acquire(db)
        change = family(write_buffer_size="4194304")
        client.change(db, epoch, [change], [back(change)]).refused(422, "unsupported")
        client.change(db, epoch, [threads("low", 2)], [back(threads("low", 2))]).refused(422, "unsupported")


def test_without_statistics_writes_are_counted_and_the_rest_is_null(scene: Scene) -> None:
    scene.ask("open")
    scene.ask("put", 50)
    with scene.client() as client:
        described = client.only_database()
        assert described["capabilities"]["statistics"] == "none"
        snapshot = client.fresh_snapshot(described["id"])
        assert snapshot["tickers"] is None
        assert snapshot["histograms"] is None
        known = {name: value for name, value in snapshot["counters"].items() if value is not None}
        assert known == {"writes": 50, "stall_micros": 0}


def test_counters_begin_at_0_though_the_statistics_are_older(scene: Scene) -> None:
    scene.ask("open", "statistics=yes")
    scene.ask("put", 50)
    scene.ask("flush")
    scene.ask("reopen_with_the_same_options")
    with scene.client() as client:
        described = client.only_database()
        counters = client.fresh_snapshot(described["id"])["counters"]
        assert counters["writes"] == counters["flushes"] == 0
        scene.ask("put", 7)
        counters = client.fresh_snapshot(described["id"])["counters"]
        assert counters["writes"] == 7


def test_a_snapshot_is_cheap_for_the_host(scene: Scene) -> None:
    """A guard, ten times looser than what is measured (README): most of it is the text of the Statistics.

    It is held against what this machine needs for some work of the same length, both at their best.
    """
    scene.ask("open", "statistics=yes")
    with scene.client() as client:
        db = client.only_database()["id"]
        costs, works = [], []
        for _ in range(20):
            time.sleep(0.06)
            costs.append(client.snapshot(db)["collect_s"])
            began_s = time.perf_counter()
            sum(range(100_000))  # 1 to 2 ms
            works.append(time.perf_counter() - began_s)
    assert 0 < min(costs) < 10 * min(works)


@pytest.mark.parametrize("module", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_it_is_python_3_9_and_needs_the_standard_library_alone(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"), feature_version=(3, 9))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            assert name.split(".")[0] in sys.stdlib_module_names | {"adocd_agent"}, name


def test_importing_it_does_not_import_rocksdict(run_dir: Path) -> None:
    words = "import sys, adocd_agent; sys.exit('rocksdict' in sys.modules)"
    with Program([sys.executable, "-c", words], environment(None, run_dir), expect="") as program:
        assert program.finish() == 0
