"""What a reading is given, and what it returns."""

from collections.abc import Mapping

from adocd.model.policy import ParameterValue

#: Values to set, by the knob's name and the column family.
WantedSettings = dict[tuple[str, str | None], int]
#: The law's parameters.
Given = Mapping[str, ParameterValue]
