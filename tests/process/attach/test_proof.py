"""What is proven to be an open database, and what is not, on memory that is written here by hand."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.process.attach.layout import Layout
from adocd.process.attach.proof import Proof, ProvenDatabase, proven

LAYOUT = Layout(
    size=256, name_at=8, handle_at=64, handle_backs=((16, 0), (24, 96)), versions_at=72, versions_backs=((40, 128),),
    closing_at=(200, 201), database_table=0x100, handle_table=0x200, versions_table=0x300,
)  # fmt: skip
BASE = 0x7F0000000000
DATABASE, HANDLE, VERSIONS, NAME = 0x10000, 0x20000, 0x30000, 0x40000
DIRECTORY = Path("/srv/database")


class Memory:
    """Bytes at addresses; whatever is not here is not mapped."""

    def __init__(self) -> None:
        self.pieces: dict[int, bytearray] = {}

    def put(self, address: int, size: int, words: dict[int, int]) -> None:
        """Write an object of zeros with these words at their offsets."""
        body = bytearray(size)
        for at, word in words.items():
            struct.pack_into("<Q", body, at, word)
        self.pieces[address] = body

    def database(self, address: int, handle: int, versions: int, name: int = NAME) -> None:
        """Write an open database, with its handle and its version set."""
        names = str(DIRECTORY).encode()
        self.pieces[name] = bytearray(names)
        members = {0: BASE + 0x100, 8: name, 16: len(names), 64: handle, 72: versions}
        self.put(address, 256, members)
        self.put(handle, 40, {0: BASE + 0x200, 16: address, 24: address + 96})
        self.put(versions, 64, {0: BASE + 0x300, 40: address + 128})

    def set(self, address: int, at: int, word: int) -> None:
        """Overwrite one word."""
        struct.pack_into("<Q", self.pieces[address], at, word)

    def read(self, address: int, size: int) -> bytes | None:
        """Read as a process's memory is read."""
        for begin, body in self.pieces.items():
            if begin <= address and address + size <= begin + len(body):
                return bytes(body[address - begin : address - begin + size])
        return None


def found(
    memory: Memory, *addresses: int, locked: tuple[Path, ...] = (DIRECTORY,), log: Path = DIRECTORY / "LOG"
) -> list[ProvenDatabase]:
    pointers = {address: {log} for address in addresses}
    return proven(Proof(memory.read, LAYOUT, BASE), pointers, locked, Path, lambda log, name: log == Path(name, "LOG"))


@pytest.fixture
def memory() -> Memory:
    """One open database."""
    made = Memory()
    made.database(DATABASE, HANDLE, VERSIONS)
    return made


def test_an_open_database_is_proven(memory: Memory) -> None:
    assert found(memory, DATABASE, 0, DATABASE + 8, HANDLE) == [ProvenDatabase(DATABASE, DIRECTORY)]


@pytest.mark.parametrize(
    ("address", "at", "word"),
    [
        (DATABASE, 0, BASE + 0x108),
        (DATABASE, 64, 0),
        (DATABASE, 64, 0x99990000),
        (DATABASE, 72, 0),
        (HANDLE, 0, 0),
        (HANDLE, 16, DATABASE + 8),
        (HANDLE, 24, 0),
        (VERSIONS, 0, BASE + 0x200),
        (VERSIONS, 40, DATABASE),
        (DATABASE, 200, 1),
        (DATABASE, 200, 1 << 8),
        (DATABASE, 8, 0x99990000),
        (DATABASE, 16, 0),
        (DATABASE, 16, 1 << 40),
    ],
    ids=[
        "another class", "closed: no handle", "its handle's memory is gone", "closed: no version set",
        "the handle is freed", "another database's handle", "another mutex", "no version set",
        "another database's version set", "it is closing", "it is closing, by the second byte", "its name is gone",
        "no name", "no name can be so long",
    ],
)  # fmt: skip
def test_one_link_that_is_wrong_is_enough(memory: Memory, address: int, at: int, word: int) -> None:
    memory.set(address, at, word)
    assert found(memory, DATABASE) == []


def test_a_copy_points_to_the_original(memory: Memory) -> None:
    copy = 0x50000
    memory.pieces[copy] = bytearray(memory.pieces[DATABASE])
    assert found(memory, copy, DATABASE) == [ProvenDatabase(DATABASE, DIRECTORY)]


def test_without_its_lock_a_database_is_not_open(memory: Memory) -> None:
    assert found(memory, DATABASE, locked=(Path("/srv/other"),)) == []


def test_while_it_is_opened_another_ones_log_may_name_its_address(memory: Memory) -> None:
    """One that was there before it: RocksDB names an address in a database's own LOG when its open has succeeded."""
    assert found(memory, DATABASE, log=Path("/srv/other/LOG")) == []


def test_of_two_at_one_directory_neither_is_proven(memory: Memory) -> None:
    memory.database(0x60000, 0x70000, 0x80000, 0x90000)
    assert found(memory, DATABASE, 0x60000) == []


@given(st.sampled_from([DATABASE, HANDLE, VERSIONS]), st.integers(0, 255), st.integers(1, 255))
def test_no_flip_of_a_byte_makes_a_database_of_another_address(piece: int, at: int, flip: int) -> None:
    memory = Memory()
    memory.database(DATABASE, HANDLE, VERSIONS)
    body = memory.pieces[piece]
    body[at % len(body)] ^= flip
    assert {each.address for each in found(memory, DATABASE, HANDLE, VERSIONS, NAME)} <= {DATABASE}
