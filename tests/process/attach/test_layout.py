"""A librocksdb whose layout cannot be learned is refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.process.attach import layout
from adocd.process.attach.problem import AttachRefused


def test_a_library_that_opens_no_database(tmp_path: Path) -> None:
    library = tmp_path / "librocksdb.so.7.8"
    library.write_bytes(b"no library")
    with pytest.raises(AttachRefused, match=r"cannot be told from other memory .*start the program under `adocd exec`"):
        layout.learned(library)


def test_a_library_that_opens_one_too_slowly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "librocksdb.so.7.8"
    library.write_bytes(b"no library, and nobody has looked for long enough to see that")
    monkeypatch.setattr(layout, "_AT_MOST_S", 0)
    with pytest.raises(AttachRefused, match="looking took longer than 0 s"):
        layout.learned(library)
