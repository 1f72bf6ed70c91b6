"""The cgroup: what is written, that it is gone afterwards, and that it really caps."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from adocd_bench.errors import CapUnavailable
from adocd_bench.host.cap import GROUP_PREFIX, Cap, CgroupTree, capped, limit_lines, own_group, refusal, written_bytes
from adocd_bench.host.device import MB, UNCAPPED, DeviceProfile, WholeDisk, block_device_of, parse_profile
from adocd_bench.host.owner import own_token

from tests.bench.roots import FakeCgroupTree, tree, writable_tree
from tests.support.waiting import PATIENCE_S

VDA = WholeDisk("vda", "254:0")

#: Writes past the page cache, as flush and compaction do with direct I/O, and prints the bytes per second.
DIRECT_WRITER = """
import mmap, os, sys, time
block = mmap.mmap(-1, 1 << 20)
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
start_s = time.monotonic()
for _ in range(int(sys.argv[2])):
    os.write(file, block)
print((int(sys.argv[2]) << 20) / (time.monotonic() - start_s))
"""


def test_version_1_has_a_file_for_each_direction() -> None:
    assert limit_lines(1, VDA, parse_profile("cap-210")) == [
        ("blkio.throttle.read_bps_device", "254:0 210000000"),
        ("blkio.throttle.write_bps_device", "254:0 210000000"),
    ]


def test_version_2_has_one_line_for_both() -> None:
    assert limit_lines(2, VDA, parse_profile("cap-490")) == [("io.max", "254:0 rbps=490000000 wbps=490000000")]


@pytest.mark.parametrize(
    ("version", "lines"),
    [(1, [("blkio.throttle.write_bps_device", "254:0 5")]), (2, [("io.max", "254:0 wbps=5")])],
)
def test_a_direction_without_a_figure_is_left_alone(version: int, lines: list[tuple[str, str]]) -> None:
    assert limit_lines(version, VDA, DeviceProfile("writes", write_bytes_per_s=5)) == lines


def test_a_group_is_made_filled_and_removed_on_version_1(tmp_path: Path) -> None:
    roots = writable_tree("whole-disk", tmp_path)
    with capped(parse_profile("cap-210-wal-outside"), Path("/db"), 0, roots, FakeCgroupTree(roots)) as cap:
        assert cap.device == cap.disk == VDA
        assert cap.directory == Path("/db")
        assert not cap.dedicated
        assert cap.procs is not None
        group = cap.procs.parent
        assert group.parent == roots.cgroup / "blkio"
        assert (group / "blkio.throttle.write_bps_device").read_text() == "254:0 210000000"
    assert not group.exists()


def test_a_cap_is_lifted_and_imposed_again_on_either_version(tmp_path: Path) -> None:
    for version, name, file, lifted, imposed in (
        (1, "whole-disk", "blkio.throttle.write_bps_device", "254:0 0", "254:0 210000000"),
        (2, "server", "io.max", "254:0 rbps=max wbps=max", "254:0 rbps=210000000 wbps=210000000"),
    ):
        hierarchy = FakeCgroupTree(writable_tree(name, tmp_path / name))
        with own_group(hierarchy) as group:
            cap = Cap(parse_profile("cap-210"), tmp_path, VDA, VDA, group / "cgroup.procs", version)
            cap.impose()
            assert (group / file).read_text() == imposed
            cap.lift()
            assert (group / file).read_text() == lifted
            cap.impose()
            assert (group / file).read_text() == imposed
        assert not group.exists()


def test_a_group_on_version_2_has_the_controller_that_charges_writeback(tmp_path: Path) -> None:
    roots = writable_tree("server", tmp_path)
    (roots.cgroup / "cgroup.subtree_control").write_text("cpu")
    with own_group(FakeCgroupTree(roots)):
        assert (roots.cgroup / "cgroup.subtree_control").read_text() == "+io +memory"


def test_version_2_without_the_memory_controller_is_refused(tmp_path: Path) -> None:
    roots = writable_tree("server", tmp_path)
    (roots.cgroup / "cgroup.controllers").write_text("cpu io\n")
    with pytest.raises(CapUnavailable, match=r"^without the memory controller.*use --profile uncapped$"):
        own_group(FakeCgroupTree(roots)).__enter__()


def test_the_wal_outside_needs_version_1(tmp_path: Path) -> None:
    """Version 2 counts buffered writes to the program, so that nothing is outside."""
    roots = writable_tree("server", tmp_path)
    asked = capped(parse_profile("cap-210-wal-outside"), Path("/srv/databases"), 0, roots, FakeCgroupTree(roots))
    with pytest.raises(CapUnavailable, match=r"needs cgroup v1.*use --profile cap-210$"):
        asked.__enter__()


def test_the_group_is_removed_after_an_error_too(tmp_path: Path) -> None:
    roots = writable_tree("whole-disk", tmp_path)
    with pytest.raises(KeyboardInterrupt), own_group(FakeCgroupTree(roots)):
        raise KeyboardInterrupt
    assert not list((roots.cgroup / "blkio").glob(f"{GROUP_PREFIX}*"))


def test_groups_of_dead_runs_are_removed_and_others_are_not(tmp_path: Path) -> None:
    roots = writable_tree("whole-disk", tmp_path)
    names = {
        "dead": f"{GROUP_PREFIX}999999999-1",
        "alive": f"{GROUP_PREFIX}{own_token()}",
        "busy": f"{GROUP_PREFIX}999999998-1",
        "foreign": "someone-else",
    }
    for name in names.values():
        (roots.cgroup / "blkio" / name).mkdir()
    (roots.cgroup / "blkio" / names["busy"] / "cgroup.procs").write_text(f"{os.getpid()}\n")
    hierarchy = FakeCgroupTree(roots)
    hierarchy.proc = Path("/proc")
    hierarchy.remove_leftovers()
    left = {path.name for path in (roots.cgroup / "blkio").iterdir() if path.is_dir()}
    assert left == {names["alive"], names["busy"], names["foreign"]}


def test_the_group_of_a_run_in_another_pid_namespace_is_left_alone(tmp_path: Path) -> None:
    """It is empty between two programs, and its process is not in our /proc."""
    roots = writable_tree("whole-disk", tmp_path)
    nobody = tmp_path / "proc"
    nobody.mkdir()
    mine, other = FakeCgroupTree(roots), FakeCgroupTree(roots)
    mine.proc = Path("/proc")
    with own_group(mine) as group:
        other.proc = nobody
        other.remove_leftovers()
        assert group.is_dir()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "blkio.throttle.io_service_bytes",
            "8:0 Write 7\n254:0 Read 5\n254:0 Write 4096\n254:0 Total 4101\nTotal 4101\n",
        ),
        ("io.stat", "8:0 rbytes=1 wbytes=7 rios=1\n254:0 rbytes=5 wbytes=4096 rios=2 wios=1\n"),
    ],
)
def test_what_the_group_wrote(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert written_bytes(tmp_path, VDA) == 4096
    assert written_bytes(tmp_path, WholeDisk("vdb", "254:16")) == 0


def test_no_controller_is_one_sentence() -> None:
    with pytest.raises(CapUnavailable, match=r"^no cgroup controller .* use --profile uncapped$"):
        CgroupTree(tree("container"))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "run as root"),
        (errno.EPERM, "run as root"),
        (errno.EROFS, "read-only"),
        (errno.EBUSY, "as in a container"),
        (errno.ENODEV, "cannot be set up (No such device)"),
    ],
)
def test_every_refusal_of_the_kernel_says_the_way_out(number: int, words: str) -> None:
    sentence = str(refusal(OSError(number, os.strerror(number)), Path("/sys/fs/cgroup/x")))
    assert words in sentence
    assert sentence.endswith("use --profile uncapped")


def test_an_uncapped_run_touches_nothing_and_starts_programs_as_they_are(tmp_path: Path) -> None:
    with capped(UNCAPPED, tmp_path, 0, tree("container")) as cap:
        assert cap.command(["true", "-x"]) == ["true", "-x"]
        assert cap.device is None
        assert cap.directory == tmp_path


def test_the_wrapper_enters_the_group_and_becomes_the_program(tmp_path: Path) -> None:
    roots = writable_tree("whole-disk", tmp_path)
    with capped(parse_profile("cap-1-wal-outside"), Path("/"), 0, roots, FakeCgroupTree(roots)) as cap:
        script = "import os, sys; print(os.getpid(), sys.argv[1:])"
        arguments = ["a b", "$HOME", ""]
        command = cap.command([sys.executable, "-c", script, *arguments])
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            said, _ = process.communicate()
        assert cap.procs is not None
        assert cap.procs.read_text() == f"{process.pid}\n"
        assert said == f"{process.pid} {arguments}\n"
        cap.procs.write_text("")  # the kernel would have taken the dead process out


def _skip_where_nothing_can_be_capped(directory: Path) -> None:
    """What is said where the device below the directory cannot be capped has a way out in it."""
    try:
        with capped(parse_profile("cap-100-wal-outside"), directory, 0):
            return
    except CapUnavailable as refused:
        sentence = str(refused)
    assert "use --profile" in sentence
    assert "cgroup v1" in sentence or "root" in sentence or "container" in sentence or "--directory" in sentence
    pytest.skip(sentence)


def test_a_program_in_the_group_writes_no_faster_than_the_cap(disk: Path) -> None:
    _skip_where_nothing_can_be_capped(disk)
    cap_bytes_per_s, mebibytes = 5 * MB, 20
    with capped(parse_profile("cap-5-wal-outside"), disk, 0) as cap:
        assert cap.device == block_device_of(disk)
        command = cap.command([sys.executable, "-c", DIRECT_WRITER, str(disk / "file"), str(mebibytes)])
        cap.lift()
        free = subprocess.run(command, capture_output=True, text=True, check=True)
        before = cap.written_bytes() or 0
        cap.impose()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        written = (cap.written_bytes() or 0) - before
    # The kernel lets nobody be faster, whatever else the disk has to do; without the cap it is another matter.
    assert float(done.stdout) < 1.3 * cap_bytes_per_s
    assert float(free.stdout) > 1.5 * float(done.stdout)
    assert mebibytes << 20 <= written < (mebibytes + 4) << 20
    assert cap.procs is not None
    assert not cap.procs.parent.exists()


def test_what_still_runs_in_the_group_is_ended_with_it(disk: Path) -> None:
    _skip_where_nothing_can_be_capped(disk)
    with capped(parse_profile("cap-20-wal-outside"), disk, 0) as cap:
        process = subprocess.Popen(cap.command(["sleep", "60"]))
        assert cap.procs is not None
        deadline_s = time.monotonic() + PATIENCE_S
        while str(process.pid) not in cap.procs.read_text().split() and time.monotonic() < deadline_s:
            time.sleep(0.01)
        # The group empties when the process is dead, reaped or not.
    assert process.wait(timeout=PATIENCE_S) != 0
    assert not cap.procs.parent.exists()
