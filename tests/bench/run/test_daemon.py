"""The daemon of a run, with limits of the scheme's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from adocd_bench.evaluation.schemes import SCHEMES
from adocd_bench.run.daemon import serving
from adocd_bench.run.observe import Watched
from adocd_bench.run.workspace import run_directory

from adocd.model.policy import Policy
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

#: More files than the daemon's own guard allows with compaction off.
_FILES = 250


@pytest.mark.parametrize(("scheme", "stays_off"), [("toggle", False), ("toggle-without-bounds", True)])
def test_compaction_stays_off_only_where_the_scheme_has_no_bounds(tmp_path: Path, scheme: str, stays_off: bool) -> None:
    database = FakeDatabase(tmp_path / "db")
    database.measurements.column_families["default"]["rocksdb.num-files-at-level0"] = _FILES
    policy, safety = Policy("manual", {"auto_compaction": False}), SCHEMES[scheme].safety
    with (
        run_directory() as room,
        FakeAgent(room, [database]),
        serving(room, policy, tick_s=0.2, safety=safety) as daemon,
    ):
        seen = Watched(daemon, Path(database.path))

        def outcome() -> str | None:
            seen.look()
            seen.look_at_decisions()
            return next((each.outcome for each in seen.decisions if each.outcome != "in-flight"), None)

        found = eventually(outcome, what="a decision has an outcome")
        switched_off = database.options.column_families["default"]["disable_auto_compactions"] == "true"
        assert (switched_off, found == "applied") == (stays_off, stays_off)
