"""The configuration file: every mistake is named with its path and the way out."""

import os
from pathlib import Path

import pytest

from adocd.daemon.fleet import config
from adocd.model.policy import Policy, Priority, Shaping


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "adocd.toml"
    path.write_text(text)
    return path


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    assert config.load(write(tmp_path, "")) == config.Config()


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    """A FIFO would be waited for, /dev/zero never ends."""
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(config.ConfigError, match=f"{path} is no regular file; write it to one"):
            config.load(path)
    with pytest.raises(config.ConfigError, match="cannot be read: Is a directory"):
        config.load(tmp_path)


def test_a_number_that_is_larger_than_any_float_is_named_in_a_line(tmp_path: Path) -> None:
    for key in ("tick_s", "memory_budget_bytes"):
        with pytest.raises(config.ConfigError, match=key) as refused:
            config.load(write(tmp_path, f"[daemon]\n{key} = -{10**400}\n"))
        assert len(str(refused.value)) < 500
    for figure in (f"0x{'f' * 4000}", "9" * 5000):
        with pytest.raises(config.ConfigError) as refused:
            config.load(write(tmp_path, f"[daemon]\ntick_s = {figure}\n"))
        assert len(str(refused.value)) < 500
    with pytest.raises(config.ConfigError, match="threads_max"):
        config.load(write(tmp_path, f"[policy]\ncontroller = 'adoc'\nparameters = {{ threads_max = {10**400} }}\n"))


def test_the_first_target_that_matches_counts(tmp_path: Path) -> None:
    loaded = config.load(
        write(
            tmp_path,
            """
            [policy]
            controller = "adoc"
            parameters = { threads_max = 8 }
            [[targets]]
            path = "/var/lib/mysql/*"
            controller = "fixed"
            [[targets]]
            path = "/var/lib/*"
            controller = "adoc"
            dry_run = true
            """,
        )
    )
    assert loaded.policy_for("/data/db") == Policy("adoc", {"threads_max": 8})
    assert loaded.policy_for("/var/lib/mysql/#rocksdb") == Policy("fixed")
    assert loaded.policy_for("/var/lib/kvrocks") == Policy("adoc", {}, dry_run=True)


def test_labels_mean_databases_as_paths_do(tmp_path: Path) -> None:
    loaded = config.load(
        write(
            tmp_path,
            """
            [[targets]]
            path = "/fast/*"
            labels = { application = "orders", store = "balances*" }
            controller = "adoc"
            [[targets]]
            labels = { application = "orders" }
            controller = "tide"
            [[targets]]
            labels = { operator = "Keyed*" }
            controller = "adoc-released"
            [[shares]]
            labels = { application = "orders", task = "0_*" }
            weight = 3
            """,
        )
    )
    flink = f"job_{'a' * 32}_op_KeyedProcessOperator_{'b' * 32}__1_2__uuid_65b50444-5857-4940-9f8c-77326cc79279/db"
    for path, law in {
        "/fast/orders/0_3/rocksdb/balances-by-day": "adoc",
        "/slow/orders/0_3/rocksdb/balances-by-day": "tide",
        "/fast/orders/0_3/rocksdb/rates": "tide",
        "/fast/orders/1_0/per-hour/per-hour.1800000600000": "tide",
        "/fast/payments/0_3/rocksdb/balances": "fixed",
        f"/tmp/{flink}": "adoc-released",
        "/fast/db": "fixed",
    }.items():
        assert loaded.policy_for(path).controller == law, path
    assert loaded.priority_for("/slow/orders/0_3/rocksdb/rates").weight == 3
    assert loaded.priority_for("/slow/orders/1_0/rocksdb/rates").weight == 1


def test_several_laws_have_a_table_each(tmp_path: Path) -> None:
    """Or the law's name before each of their parameters, as on the command line."""
    expected = Policy("adoc+mimd", {"adoc.threads_max": 8, "mimd.max_bytes_per_s": 400_000_000})
    tables = """
        [policy]
        controller = "adoc+mimd"
        [policy.parameters.adoc]
        threads_max = 8
        [policy.parameters.mimd]
        max_bytes_per_s = 400_000_000
    """
    names = """
        [policy]
        controller = "adoc+mimd"
        parameters = { "adoc.threads_max" = 8, "mimd.max_bytes_per_s" = 400_000_000 }
    """
    for text in (tables, names):
        assert config.load(write(tmp_path, text)).policy_for("/data/db") == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[daemon]\ntick = 1",
            "daemon: there is no key 'tick'; did you mean tick_s?",
        ),
        ("[demon]\n", "there is no key 'demon'; did you mean daemon?"),
        ("[daemon]\ntick_s = 0", "daemon.tick_s must be at least 0.05 s, not 0"),
        (
            "[daemon]\ntick_s = 5\nlease_ttl_s = 10",
            "daemon: lease_ttl_s (10) must be at least three times tick_s (5), for the lease is renewed once a tick",
        ),
        ("[daemon]\ntick_s = 'fast'", "daemon.tick_s must be a time such as 500ms, 30s, 5min"),
        (
            "[policy]\ncontroller = 'adoc+adoc-released'",
            "policy.parameters: adoc and adoc-released cannot work together: both turn background_jobs",
        ),
        ("[policy]\ncontroller = 'mimd'", "policy.parameters: mimd needs the parameter max_bytes_per_s"),
        (
            "[policy]\ncontroller = 'adco'",
            "policy.controller: there is no controller 'adco'; did you mean adoc?",
        ),
        (
            "[policy]\ncontroller = 'adoc'\nparameters = { thraeds_max = 3 }",
            "policy.parameters: adoc has no parameter 'thraeds_max'; did you mean threads_max?",
        ),
        ("[[targets]]\ncontroller = 'adoc'", "targets.0.labels must say which databases are meant, or path must"),
        ("[[targets]]\nlabels = {}", "targets.0.labels must say which databases are meant, or path must"),
        ("[[shares]]\nweight = 2", "shares.0.labels must say which databases are meant, or path must"),
        (
            "[[targets]]\nlabels = { app = 'orders' }",
            "targets.0.labels: there is no label 'app'; there are application, task, store, segment, job, operator, "
            "operator_id and subtask",
        ),
        ("[[shares]]\npath = '/x'\nlabels = { path = '/x' }", "shares.0.labels: there is no label 'path'; there are"),
        ("[[targets]]\nlabels = { store = '' }", "targets.0.labels.store must not be empty"),
        ("[[targets]]\npath = ''\nlabels = { store = 'x' }", "targets.0.path must not be empty"),
        ("[[targets]]\nlabels = { store = 3 }", "targets.0.labels.store must be text, not 3"),
        ("[[targets]]\nlabels = 'orders'", "targets.0.labels must be a table of names and values, not 'orders'"),
        (
            "[[targets]]\nlables = { store = 'x' }",
            "targets.0: there is no key 'lables'; did you mean labels?",
        ),
        (
            "[[targets]]\npath = 'x'\npaht = 'y'",
            "targets.0: there is no key 'paht'; did you mean path?",
        ),
        (
            "[[targets]]\npath = '/x'\ncontroller = 'adoc'\nparameters = { threads_max = 0 }",
            "targets.0.parameters: adoc: threads_max must be at least 1, not 0",
        ),
        ("[daemon\n", "is not TOML"),
        ("a = " + "[" * 100_000, "is not TOML"),
    ],
)
def test_mistakes_are_named_with_their_path(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(config.ConfigError) as error:
        config.load(path)
    assert str(path) in str(error.value)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        [daemon]
        tick_s = "5M"
        memory_budget_bytes = "8G"
        [safety]
        compaction_off_secs = 1
        [policy]
        controller = "adoc"
        parameters = { thread_max = 8, threads_min = 0, batch_max_bytes = "64M" }
        [[targets]]
        path = "/a"
        controller = "adco"
        [[targets]]
        path = "/b"
        controller = "adoc"
        parameters = { threads_max = [1] }
        [[targets]]
        path = "/c"
        controller = "adoc"
        parameters = { threads_max = "many" }
        """,
    )
    with pytest.raises(config.ConfigError) as error:
        config.load(path)
    assert [sentence.removeprefix(f"{path}: ") for sentence in error.value.sentences] == [
        "daemon.tick_s must be a time such as 500ms, 30s, 5min, 2h, 1d or 2h30min, not '5M'",
        "daemon.memory_budget_bytes must be 8GB (8,000,000,000 bytes) or 8GiB (8,589,934,592 bytes), not '8G': "
        "this may mean either",
        "safety: there is no key 'compaction_off_secs'; did you mean compaction_off_s?",
        "targets.0.controller: there is no controller 'adco'; did you mean adoc?",
        "targets.1.parameters: threads_max must be a number, text, true or false, not a list",
        "policy.parameters: batch_max_bytes must be 64MB (64,000,000 bytes) or 64MiB (67,108,864 bytes), not '64M': "
        "this may mean either",
        "policy.parameters: adoc: threads_min must be at least 1, not 0",
        "policy.parameters: adoc has no parameter 'thread_max'; did you mean threads_max?",
        "targets.2.parameters: adoc: threads_max must be a whole number, not 'many'",
    ]


def test_sizes_and_times_may_have_a_unit(tmp_path: Path) -> None:
    text = """
        [daemon]
        tick_s = "500ms"
        memory_budget_bytes = "8GiB"
        [policy]
        controller = "adoc"
        parameters = { batch_max_bytes = "256MB" }
        shaping = { pacing_s = "1min" }
    """
    loaded = config.load(write(tmp_path, text))
    assert (loaded.daemon.tick_s, loaded.daemon.memory_budget_bytes) == (0.5, 8 << 30)
    assert loaded.policy_for("/db") == Policy("adoc", {"batch_max_bytes": 256_000_000}, False, Shaping(pacing_s=60.0))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(config.ConfigError, match="cannot be read: No such file or directory"):
        config.load(tmp_path / "none.toml")


def test_shares_go_by_the_first_path_that_matches(tmp_path: Path) -> None:
    text = """
        [[shares]]
        path = "/orders/*"
        weight = 3
        floor = 0.25
        [[shares]]
        path = "/o*"
        floor = 1
    """
    loaded = config.load(write(tmp_path, text))
    assert loaded.priority_for("/orders/db") == Priority(3.0, 0.25)
    assert loaded.priority_for("/other") == Priority(1.0, 1.0)
    assert loaded.priority_for("/db") == Priority(1.0, 0.0)
    assert loaded.policy_for("/orders/db") == Policy("fixed"), "shares say nothing about policies"


def test_a_share_that_cannot_be_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        [daemon]
        arbiter = "on"
        [[shares]]
        weight = 0
        floor = 1.5
        wieght = 2
        """,
    )
    with pytest.raises(config.ConfigError) as error:
        config.load(path)
    assert [sentence.removeprefix(f"{path}: ") for sentence in error.value.sentences] == [
        "daemon.arbiter must be true or false, not 'on'",
        "shares.0.labels must say which databases are meant, or path must",
        "shares.0.weight must be at least 0.001, not 0",
        "shares.0.floor must be at most 1, not 1.5",
        "shares.0: there is no key 'wieght'; did you mean weight?",
    ]
