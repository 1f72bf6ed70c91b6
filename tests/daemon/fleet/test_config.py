"""The configuration file: every mistake is named with its path and the way out."""

import os
from pathlib import Path

import pytest

from adocd.daemon.fleet import config
from adocd.model.policy import Policy


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
            "daemon.tick: there is no such key; there are directories, history_s, lease_ttl_s, log_format, memory",
        ),
        ("[demon]\n", "demon: there is no such key; there are daemon, policy, safety, targets"),
        ("[daemon]\ntick_s = 0", "daemon.tick_s: Input should be greater than or equal to 0.05 (it is 0)"),
        (
            "[daemon]\ntick_s = 5\nlease_ttl_s = 10",
            "daemon: lease_ttl_s (10) must be at least three times tick_s (5), for the lease is renewed once a tick",
        ),
        ("[daemon]\ntick_s = 'fast'", "daemon.tick_s: Input should be a valid number"),
        (
            "[policy]\ncontroller = 'adoc+adoc-released'",
            "policy.parameters: adoc and adoc-released cannot work together: both turn background_jobs",
        ),
        ("[policy]\ncontroller = 'mimd'", "policy.parameters: mimd needs the parameter max_bytes_per_s"),
        (
            "[policy]\ncontroller = 'adco'",
            "policy.controller: there is no controller 'adco'; there are adoc, adoc-released, fixed",
        ),
        (
            "[policy]\ncontroller = 'adoc'\nparameters = { threads = 3 }",
            "policy.parameters: adoc has no parameter 'threads'; it has tune_threads",
        ),
        ("[[targets]]\ncontroller = 'adoc'", "targets.0.path: Field required"),
        (
            "[[targets]]\npath = 'x'\npaht = 'y'",
            "targets.0.paht: there is no such key; there are controller, dry_run",
        ),
        (
            "[[targets]]\npath = '/x'\ncontroller = 'adoc'\nparameters = { threads_max = 0 }",
            "targets.0.parameters: adoc: threads_max: Input should be greater than or equal to 1",
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


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(config.ConfigError, match="cannot be read: No such file or directory"):
        config.load(tmp_path / "none.toml")
