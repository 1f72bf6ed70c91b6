"""What of the bench's metadata depends on its version: it needs the adocd that it was made with, and no other."""

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class SameVersion(MetadataHookInterface):
    """Pin adocd to the version that is built; the other dependencies are those of pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies."""
        metadata["dependencies"] = [f"adocd=={metadata['version']}", *self.config["dependencies"]]
