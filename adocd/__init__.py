"""adocd keeps RocksDB out of write stalls, from outside the database process."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """Read the version when it is asked for: looking it up is a seventh of what adocctl takes to start."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version  # noqa: PLC0415

        return version("adocd")
