"""adocd keeps RocksDB out of write stalls, from outside the database process."""

from importlib.metadata import version

__version__ = version("adocd")
