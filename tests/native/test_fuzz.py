"""The agent's request handling under AddressSanitizer and UBSan, with a coverage-guided fuzzer (libFuzzer).

What the targets do stands in agents/native/tests/fuzz. `make fuzz` (ADOCD_FUZZ=long) runs them for two million inputs,
keeps what it learns in .cache/fuzz/corpus, and prints the figures.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.long

SOURCES = REPOSITORY / "agents" / "native" / "tests" / "fuzz"
BUILD = REPOSITORY / ".cache" / "fuzz"
LONG = os.environ.get("ADOCD_FUZZ") == "long"
#: No entropic schedule: with as many features as these targets have, it takes half the time. Leaks are looked for when
#: a run ends; after each input it would stop every thread each time.
OPTIONS = ["-detect_leaks=0", "-entropic=0", "-timeout=30", "-print_final_stats=1", f"-dict={SOURCES / 'dictionary'}"]


@dataclass(frozen=True)
class Target:
    """How many inputs one target runs in each profile: a count, not seconds, which a busy machine would waste."""

    name: str
    long_inputs: int
    short_inputs: int


TARGETS = [
    Target("http", long_inputs=550_000, short_inputs=4_000),
    Target("bodies", long_inputs=450_000, short_inputs=14_000),
    Target("query", long_inputs=1_000_000, short_inputs=38_000),
]


@pytest.fixture(scope="module")
def build() -> Path:
    """Compile the targets."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "--no-print-directory", "fuzz-targets"],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return BUILD


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_input_crashes_the_host(target: Target, build: Path, tmp_path: Path) -> None:
    corpus = (build if LONG else tmp_path) / "corpus" / target.name
    crashes = build / "crashes"
    for directory in (corpus, crashes):
        directory.mkdir(parents=True, exist_ok=True)
    inputs = target.long_inputs if LONG else target.short_inputs
    command: list[str | Path] = [
        build / f"fuzz_{target.name}",
        corpus,
        SOURCES / "corpus" / target.name,
        *OPTIONS,
        f"-runs={inputs}",
    ]
    began_s = time.monotonic()
    done = subprocess.run(
        [*command, f"-artifact_prefix={crashes}/{target.name}-"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=7200 if LONG else 800,
    )
    seconds = time.monotonic() - began_s
    assert done.returncode == 0, story(done.stderr)
    executed = int(figure(r"stat::number_of_executed_units:\s+(\d+)", done.stderr))
    edges = int(figure(r"DONE\s+cov: (\d+)", done.stderr))
    print(f"\n{target.name}: {executed} inputs in {seconds:.0f} s, {edges} edges covered, no crash")
    assert executed >= inputs


def figure(pattern: str, text: str) -> str:
    """Find a figure in what libFuzzer wrote."""
    found = re.search(pattern, text)
    assert found, f"no {pattern} in: {text[-2000:]}"
    return found[1]


def story(output: str) -> str:
    """What happened and where, without the fuzzer's progress: from the first line of a report on."""
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if re.search(r"ERROR: |runtime error: |^fuzz: ", line)), 0)
    return "\n".join(lines[first : first + 80] + [line for line in lines if "Test unit written" in line])
