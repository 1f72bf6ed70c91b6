"""Types of the configuration's and REST's sizes and times: a number in the field's unit, or text such as `64MiB`."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from adocd.model import units
from adocd.model.units import Unit


def _reader(unit: Unit) -> BeforeValidator:
    return BeforeValidator(lambda given: units.read(given, unit) if isinstance(given, str) else given)


def or_text(schema: dict[str, Any]) -> None:
    """Document (as a field's json_schema_extra) that the number may also be written as text with a unit."""
    pattern = units.TIME_PATTERN if schema["type"] == "number" else units.SIZE_PATTERN
    number = {key: schema.pop(key) for key in ("type", "minimum", "maximum", "exclusiveMinimum") if key in schema}
    schema["anyOf"] = [number, {"type": "string", "pattern": pattern}]


#: Bytes, as a number or as text such as `64MiB`.
Bytes = Annotated[int, _reader("bytes")]
#: Seconds, as a number or as text such as `5min`.
Seconds = Annotated[float, _reader("s")]
