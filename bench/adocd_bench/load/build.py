"""Compiles `adocd-load` from the sources beside this module, and keeps it where the native agent is kept."""

from collections.abc import Callable
from pathlib import Path

from adocd.process import compiled
from adocd.process.bundled import agent_directory
from adocd.process.compiled import NativeError, Product
from adocd_bench.errors import ProgramMissing

PROGRAM = "adocd-load"


def product() -> Product:
    """Describe how to compile it. Raises NativeError if this installation lacks the sources."""
    try:
        modules = agent_directory("native") / "cmake"
    except FileNotFoundError as error:
        raise NativeError(str(error)) from None
    sources = Path(__file__).parent / "native"
    return Product("load", PROGRAM, PROGRAM, sources, {"ADOCD_CMAKE_MODULES": str(modules)})


def find_or_build(say: Callable[[str], None] = lambda _: None) -> Path:
    """Return the generator's path; compile it first if it is missing or outdated for the librocksdb in use.

    `say` is called before the compilation, which takes about 20 s. Raises ProgramMissing with what to install.
    """
    try:
        library, generator = compiled.rocksdb(), product()
        if generator.is_current(library):
            return generator.kept(library)
        say("compiling the load generator, for about 20 seconds")
        return generator.build(library)
    except NativeError as error:
        raise ProgramMissing(f"the load generator cannot be compiled: {error}") from None
