"""Where the journal is: systemd's choice, the run directory's neighbour, or the place of the user."""

import os
from pathlib import Path

import pytest

from adocd.daemon.book.state_dir import journal_path

RUN_DIR = Path("/run/adocd")


@pytest.mark.parametrize(
    ("environment", "user", "path"),
    [
        ({"STATE_DIRECTORY": "/var/lib/adocd", "ADOCD_RUN_DIR": "/x"}, 0, "/var/lib/adocd/journal.sqlite"),
        ({"STATE_DIRECTORY": "/var/lib/adocd:/var/lib/other"}, 999, "/var/lib/adocd/journal.sqlite"),
        ({"ADOCD_RUN_DIR": "/run/adocd"}, 0, "/run/adocd/journal.sqlite"),
        ({}, 0, "/var/lib/adocd/journal.sqlite"),
        ({"HOME": "/home/ann"}, 1000, "/home/ann/.local/state/adocd/journal.sqlite"),
        ({"HOME": "/home/ann", "XDG_STATE_HOME": "/s"}, 1000, "/s/adocd/journal.sqlite"),
        ({"STATE_DIRECTORY": "", "ADOCD_RUN_DIR": "", "XDG_STATE_HOME": "", "HOME": "/h"}, 1000,
         "/h/.local/state/adocd/journal.sqlite"),
    ],
)  # fmt: skip
def test_where_the_journal_is(
    environment: dict[str, str], user: int, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert journal_path(RUN_DIR, environment) == Path(path)
