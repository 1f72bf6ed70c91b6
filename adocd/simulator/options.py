"""The options of the simulated database, with RocksDB's names, defaults and spelling (7.8.3)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from adocd.model.knob import MIB


class RefusedOption(ValueError):
    """An unknown option, or an invalid value; `code` is the protocol's code, and the message is one sentence."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class _Options:
    @classmethod
    def parse(cls, values: Mapping[str, str]) -> Self:
        """Read options as RocksDB writes them; missing ones get their defaults. Raises RefusedOption."""
        kinds = {field.name: type(field.default) for field in fields(cls)}
        parsed: dict[str, Any] = {}
        for name, text in values.items():
            if name not in kinds:
                raise RefusedOption("no_such_option", f"the simulated database has no option {name}")
            parsed[name] = _parse(name, text, kinds[name])
        return cls(**parsed)

    def written(self) -> dict[str, str]:
        """Return the options as RocksDB writes them in an OPTIONS file."""
        return {field.name: _write(getattr(self, field.name)) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class FamilyOptions(_Options):
    """Options of the one column family that SetOptions changes (options.h, advanced_options.h)."""

    write_buffer_size: int = 64 * MIB
    max_write_buffer_number: int = 2
    level0_file_num_compaction_trigger: int = 4
    level0_slowdown_writes_trigger: int = 20
    level0_stop_writes_trigger: int = 36
    soft_pending_compaction_bytes_limit: int = 64 * 1024 * MIB
    hard_pending_compaction_bytes_limit: int = 256 * 1024 * MIB
    target_file_size_base: int = 64 * MIB
    max_bytes_for_level_base: int = 256 * MIB
    max_bytes_for_level_multiplier: float = 10.0
    max_compaction_bytes: int = 1600 * MIB
    disable_auto_compactions: bool = False


@dataclass(frozen=True, slots=True)
class DatabaseOptions(_Options):
    """Options of the database that SetDBOptions changes (options.h)."""

    max_background_jobs: int = 2
    max_background_flushes: int = -1
    max_background_compactions: int = -1
    max_subcompactions: int = 1
    delayed_write_rate: int = 16 * MIB
    bytes_per_sync: int = 0


def _parse(name: str, text: str, kind: type) -> int | float | bool:
    if kind is bool:
        if text in ("true", "false"):
            return text == "true"
    elif kind is float:
        try:
            return float(text)
        except ValueError:
            pass
    elif text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal():
        return int(text)
    raise RefusedOption("bad_value", f"{name} does not take {text!r}")


def _write(value: float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6f}" if isinstance(value, float) else str(value)
