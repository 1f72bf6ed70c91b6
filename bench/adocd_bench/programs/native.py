"""Compiles the bench's own native programs, and keeps them where the native agent is kept."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adocd.process import compiled
from adocd.process.bundled import agent_directory
from adocd.process.compiled import NativeError, Product
from adocd_bench.errors import ProgramMissing


@dataclass(frozen=True, slots=True)
class NativeProgram:
    """A program of one directory of sources.

    Attributes:
        kind: the name of its directory among what is kept.
        name: the file's, and the build target's.
        title: what it is, for a sentence.
        sources: with its CMakeLists.txt.

    """

    kind: str
    name: str
    title: str
    sources: Path

    def product(self) -> Product:
        """Describe how to compile it. Raises NativeError if this installation lacks the sources."""
        try:
            modules = agent_directory("native") / "cmake"
        except FileNotFoundError as error:
            raise NativeError(str(error)) from None
        return Product(self.kind, self.name, self.name, self.sources, {"ADOCD_CMAKE_MODULES": str(modules)})

    def find_or_build(self, say: Callable[[str], None] = lambda _: None) -> Path:
        """Return its path; compile it first if it is missing or outdated for the librocksdb in use.

        `say` is called before the compilation, which takes about 20 s. Raises ProgramMissing with what to install.
        """
        try:
            library, product = compiled.rocksdb(), self.product()
            if product.is_current(library):
                return product.kept(library)
            say(f"compiling {self.title}, for about 20 seconds")
            return product.build(library)
        except NativeError as error:
            raise ProgramMissing(f"{self.title} cannot be compiled: {error}") from None
