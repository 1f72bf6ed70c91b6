"""The load generator's sources, beside this module, and how they are compiled."""

from pathlib import Path

from adocd_bench.programs.native import NativeProgram

GENERATOR = NativeProgram("load", "adocd-load", "the load generator", Path(__file__).parent / "native")
