"""`--where`: several databases at once at the terminal, with a real daemon and a fake agent's databases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from adocd.cli.where import as_configuration
from adocd.daemon.fleet import config
from adocd.model.policy import Policy, Shaping
from adocd.model.selector import Selector
from tests.cli.harness import Done, adocctl_json, command
from tests.cli.harness import quickly_serving as serving
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

COUNT = 40


def adocctl(run_dir: Path, *arguments: str) -> Done:
    return command("adocctl", *arguments, run_dir=run_dir)


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Serve 40 stores of the application orders, one of payments, and another program's database."""
    directory = tmp_path_factory.mktemp("run")
    state = directory / "state"
    paths = [state / "orders" / f"0_{n}" / "rocksdb" / "balances" for n in range(COUNT)]
    paths += [state / "payments" / "0_0" / "rocksdb" / "sums", directory / "mydb"]
    with FakeAgent(directory, [FakeDatabase(path) for path in paths]), serving(directory):
        eventually(
            lambda: (
                len([t for t in adocctl_json(directory, "targets")["targets"] if t["state"] == "attached"])
                == len(paths)
            ),
            what="all are found",
        )
        yield directory


def laws(run_dir: Path) -> dict[str, str]:
    listed = adocctl_json(run_dir, "targets")["targets"]
    return {t["path"].partition("/state/")[2] or "mydb": t["policy"]["controller"] for t in listed}


def test_40_stores_get_a_policy_by_one_command(run_dir: Path) -> None:
    before = adocctl(run_dir, "targets", "--where", "application=orders").ok().splitlines()
    assert len(before) == COUNT + 1, "a line each, to see whom it will mean"
    said = adocctl(run_dir, "set-policy", "adoc", "--set", "threads_max=8", "--where", "application=orders").ok()
    assert said.startswith(f"{COUNT} databases have the policy adoc threads_max=8 now.\n")
    assert "Those that open later" in said
    found = laws(run_dir)
    assert [law for path, law in found.items() if path.startswith("orders/")] == ["adoc"] * COUNT
    assert (found["payments/0_0/rocksdb/sums"], found["mydb"]) == ("fixed", "fixed")

    mine = run_dir / "mine.toml"
    mine.write_text(said.partition(":\n\n")[2])
    path = "/elsewhere/orders/1_7/per-hour/per-hour.1800000600000"
    assert config.load(mine).policy_for(path) == Policy("adoc", {"threads_max": 8})
    assert config.load(mine).policy_for("/elsewhere/db") == Policy("fixed")

    answer = json.loads(adocctl(run_dir, "reset-policy", "--where", "task=0_1?", "--json").ok())
    assert (len(answer["done"]), answer["failed"], answer["policy"]) == (10, {}, None)
    assert list(laws(run_dir).values()).count("adoc") == COUNT - 10
    assert adocctl(run_dir, "reset-policy", "--where", "path=*/0_2/rocksdb/*").ok() == (
        "1 database has the policy of adocd serve and its configuration again.\n"
    )


def test_where_it_cannot_work_is_said(run_dir: Path) -> None:
    done = adocctl(run_dir, "set-policy", "mimd", "--set", "max_bytes_per_s=100MB", "--where", "application=*")
    assert done.status == 5
    lines = done.out.splitlines()
    assert lines[0] == "No databases have the policy mimd max_bytes_per_s=100MB now."
    assert len(lines) == 1 + 20 + 1
    assert all(": FAILED: mimd cannot work on " in line for line in lines[1:21])
    assert lines[-1] == f"and {COUNT + 1 - 20} more FAILED; --json lists them"


def test_a_status_has_labels(run_dir: Path) -> None:
    said = adocctl(run_dir, "status", "0_7/rocksdb/balances").ok()
    assert "application=orders task=0_7 store=balances" in said
    assert "labels" not in adocctl(run_dir, "status", "mydb").ok()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("set-policy", "adoc", "--where", "orders"), 2, "--where: a condition is NAME=PATTERN"),
        (("set-policy", "adoc", "--where", "app=orders"), 2, "--where: there is no label 'app'; there are path, appl"),
        (("set-policy", "adoc", "mydb", "--where", "store=x"), 2, "say which target is meant, or --where, not both"),
        (("set-policy", "adoc", "--where", "store=x", "--if-match", "1"), 2, "--if-match is about the policy of one"),
        (("set-policy", "adco", "--where", "store=*"), 2, "there is no controller 'adco'; did you mean adoc?"),
        (("set-policy", "adoc", "--where", "application=ordres"), 4, "did you mean orders?"),
        (("reset-policy", "--where", "job=*"), 4, "no database has the label job"),
        (("reset-policy", "mydb", "--where", "store=x"), 2, "say which target is meant, or --where, not both"),
        (("targets", "--where", "store=nothing"), 4, "no database matches store=nothing; adocctl targets lists all"),
        (("targets", "--where", "strore=x"), 2, "--where: there is no label 'strore'"),
    ],
)
def test_mistakes_are_one_sentence(run_dir: Path, arguments: tuple[str, ...], code: int, sentence: str) -> None:
    adocctl(run_dir, *arguments).failed(code, sentence)


def test_what_is_printed_for_the_configuration_is_the_policy(tmp_path: Path) -> None:
    meant = Selector('/data/"x"/é\\*', {"application": "ord*", "store": "a.b"})
    policy = {
        "controller": "adoc+mimd",
        "parameters": {"adoc.threads_max": 8, "mimd.max_bytes_per_s": 100_000_000, "adoc.tune_batch": False},
        "dry_run": True,
        "shaping": {"step_factor": 2.0, "pacing_s": 0.0, "refractory_s": 0.0, "judge_s": 30.0},
    }
    file = tmp_path / "adocd.toml"
    file.write_text("\n".join(as_configuration(meant, policy)))
    (section,) = config.load(file).targets
    assert (section.path, section.labels) == (meant.path, meant.labels)
    shaping = Shaping(step_factor=2.0, judge_s=30.0)
    assert section.policy() == Policy("adoc+mimd", policy["parameters"], True, shaping)  # type: ignore[arg-type]
