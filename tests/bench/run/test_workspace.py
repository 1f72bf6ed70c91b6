"""Where the databases go, and that nothing stays."""

import shutil
from pathlib import Path

import pytest
from adocd_bench.errors import BadArgument, NotEnoughSpace
from adocd_bench.host.device import UNCAPPED, parse_profile
from adocd_bench.host.owner import locked, own_token, taken_over
from adocd_bench.run.workspace import (
    LOCK,
    PREFIX,
    choose_parent,
    needed_bytes,
    remove_leftovers,
    run_directory,
    workspace,
)

DEAD = "999999999-1"


def test_a_requested_directory_is_taken(tmp_path: Path) -> None:
    assert choose_parent(tmp_path, 1) == tmp_path.resolve()


def test_a_requested_directory_must_be_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (file, tmp_path / "missing"):
        with pytest.raises(BadArgument, match="is not a directory that can be written to"):
            choose_parent(path, 1)


def test_a_disk_that_is_too_full_is_refused_before_anything_starts(tmp_path: Path) -> None:
    free_bytes = shutil.disk_usage(tmp_path).free
    for requested in (tmp_path, None):
        with pytest.raises(NotEnoughSpace, match=r"GB free and the run may need .* --seconds.*--directory$"):
            choose_parent(requested, free_bytes * 1000)


def test_longer_and_faster_runs_need_more_room() -> None:
    capped = parse_profile("cap-210")
    assert needed_bytes(60, capped) < needed_bytes(180, capped) < needed_bytes(180, UNCAPPED)
    assert needed_bytes(180, capped, offered_bytes=10**9) < needed_bytes(180, capped)
    assert needed_bytes(180, capped, offered_bytes=10**12) == needed_bytes(180, capped)


def test_the_workspace_is_gone_afterwards_whatever_happened(tmp_path: Path) -> None:
    with workspace(tmp_path) as directory:
        assert directory.stat().st_mode & 0o777 == 0o700
        (directory / "database").mkdir()
        (directory / "database" / "000001.sst").write_bytes(b"x")
    assert not list(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt), workspace(tmp_path):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_workspaces_of_dead_runs_are_removed_and_others_are_not(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    kept = ["adocd-demo-notes", f"{PREFIX}{own_token()}x", f"other-{DEAD}"]
    for name in [f"{PREFIX}{DEAD}", *kept, elsewhere.name]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    (tmp_path / f"{PREFIX}999999998-1").symlink_to(elsewhere)
    with workspace(tmp_path):
        pass
    assert not (tmp_path / f"{PREFIX}{DEAD}").exists()
    assert all((tmp_path / name / "file").exists() for name in [*kept, elsewhere.name])


def test_a_run_in_another_pid_namespace_is_not_gone_while_it_holds_its_lock(tmp_path: Path) -> None:
    """Its process is not in our /proc, as that of a container is not."""
    directory = tmp_path / f"{PREFIX}{DEAD}"
    directory.mkdir()
    (directory / LOCK).touch()
    with locked(directory / LOCK):
        remove_leftovers(tmp_path)
        assert directory.is_dir()
    remove_leftovers(tmp_path)
    assert not directory.exists()


def test_a_workspace_holds_its_lock_as_long_as_it_is_there(tmp_path: Path) -> None:
    nobody = tmp_path / "proc"  # no process is in it, not even this one
    nobody.mkdir()
    with workspace(tmp_path) as directory:
        with taken_over(directory.name, PREFIX, directory / LOCK, nobody) as is_ours:
            assert not is_ours
        (directory / "left").touch()
        left = tmp_path / directory.name.replace(PREFIX, f"{PREFIX}9")
        directory.rename(left)
    with taken_over(left.name, PREFIX, left / LOCK, nobody) as is_ours:
        assert is_ours, "the lock went with its holder"


def test_a_process_that_lives_is_not_gone_but_its_number_used_again_is(tmp_path: Path) -> None:
    def is_gone(name: str) -> bool:
        with taken_over(name, "p-", tmp_path / "no-lock") as is_ours:
            return is_ours

    pid, start, number = own_token().split("-")
    for mine in (f"p-{pid}-{start}", f"p-{pid}-{start}-{number}"):
        assert not is_gone(mine)
    assert is_gone(f"p-{pid}-{int(start) + 1}-{number}")
    assert own_token() != own_token(), "runs at once have a name each"
    assert not is_gone("p-anything")


def test_a_socket_fits_into_the_run_directory() -> None:
    with run_directory() as directory:
        assert len(str(directory / "agent-4194304-99.sock")) < 108
        assert directory.stat().st_mode & 0o777 == 0o700
    assert not directory.exists()
