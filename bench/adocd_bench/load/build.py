"""Where `adocd-load` is: compiled on this machine from the sources beside this module, and kept as the agent is."""

from collections.abc import Callable
from pathlib import Path

from adocd.process import compiled
from adocd.process.bundled import agent_directory
from adocd.process.compiled import NativeError, Product
from adocd_bench.errors import ProgramMissing

PROGRAM = "adocd-load"


def product() -> Product:
    """Say how it is compiled. Raises NativeError where the sources are not in this installation."""
    try:
        modules = agent_directory("native") / "cmake"
    except FileNotFoundError as error:
        raise NativeError(str(error)) from None
    sources = Path(__file__).parent / "native"
    return Product("load", PROGRAM, PROGRAM, sources, {"ADOCD_CMAKE_MODULES": str(modules)})


def find_or_build(say: Callable[[str], None] = lambda _: None) -> Path:
    """Find the generator for the librocksdb that the linker finds; compile it where it is missing or outdated.

    `say` is told before it is compiled, which takes a while. Raises ProgramMissing with what to install.
    """
    try:
        library, generator = compiled.rocksdb(), product()
        if generator.is_current(library):
            return generator.kept(library)
        say("compiling the load generator, for about 20 seconds")
        return generator.build(library)
    except NativeError as error:
        raise ProgramMissing(f"the load generator cannot be had: {error}") from None
