"""Which jar is taken, and what is said where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adocd.process import java_agent
from adocd.process.compiled import NativeError
from tests.cli.harness import command


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_missing_one_is_said_with_the_way_to_get_it(cache: Path) -> None:
    with pytest.raises(NativeError, match="has not been built; run `adocd agent build --java`"):
        java_agent.find()


def test_one_of_other_sources_is_not_taken(cache: Path) -> None:
    jar = java_agent.kept()
    jar.parent.mkdir(parents=True)
    jar.touch()
    jar.with_suffix(".json").write_text(json.dumps({"sources": "others"}))
    with pytest.raises(NativeError, match="was built from other sources than those of adocd"):
        java_agent.find()


def test_without_maven_it_says_what_to_install(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NativeError, match="mvn, javac missing; install: apt-get install maven openjdk-17-jdk-headless"):
        java_agent.build()


def test_it_is_built_to_a_file_of_the_users(tmp_path: Path, run_dir: Path) -> None:
    jar = tmp_path / "mine" / "agent.jar"
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # for what runs once
    shown = command("adocd", "agent", "build", "--java", "--output", str(jar), run_dir=run_dir, MAVEN_OPTS=quick)
    assert (shown.status, shown.out, shown.err) == (0, f"{jar}\n", "")
    assert jar.stat().st_size > 100_000


def test_the_jar_is_for_every_librocksdb(run_dir: Path) -> None:
    refused = command("adocd", "agent", "path", "--java", "--rocksdb", "/lib/librocksdb.so", run_dir=run_dir)
    refused.failed(2, "--java and --rocksdb exclude each other")
