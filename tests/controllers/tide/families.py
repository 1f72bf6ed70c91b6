"""A database with several column families, of which the law sees and turns each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adocd.model.sample import ColumnFamilyOptions, Sample
from adocd.model.values import nested, of_family
from tests.controllers.laws import Plant
from tests.controllers.tide.test_law import Scene


class Families(Plant):
    """The plant with other column families beside the default one; a test sets their figures by name."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        options = nested(self.originals).column_families["default"]
        self.originals = {
            **self.originals,
            **{of_family(name, option): value for name in names for option, value in options.items()},
        }
        self.values = dict(self.originals)
        self.figures: dict[str, dict[str, Any]] = {name: {} for name in names}

    def sample(self, interval_s: float = 1.0) -> Sample:
        """Measure a window; an idle column family has nothing in it."""
        whole = super().sample(interval_s)
        (first,) = whole.column_families
        idle = replace(
            first,
            l0_files=0,
            immutable_memtables=0,
            memtables_bytes=0,
            pending_compaction_bytes=0,
            level_bytes=(0,) * 7,
        )
        others = tuple(
            replace(idle, name=name, options=self._options(whole, name), **figures)
            for name, figures in self.figures.items()
        )
        return replace(whole, column_families=(first, *others))

    def _options(self, whole: Sample, name: str) -> ColumnFamilyOptions:
        return ColumnFamilyOptions.read(whole.options.column_families[name])

    def now_in(self, name: str, option: str) -> str:
        """Read an option of a column family."""
        return self.values[of_family(name, option)]


def scene_of(*names: str) -> tuple[Scene, Families]:
    """A scene with these column families beside the default one."""
    scene, plant = Scene(), Families(*names)
    plant.tickers, plant.members = scene.plant.tickers, scene.plant.members
    scene.plant = plant
    return scene, plant
