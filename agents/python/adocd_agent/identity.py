"""The id of a database, which survives restarts."""

from __future__ import annotations


def fnv1a64(data: bytes) -> str:
    """FNV-1a, 64 bits, 16 lower-case hexadecimal digits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def database_id(host: str, path: str, db_identity: str) -> str:
    """Hash host name, canonical path and DB identity, as the contract defines it."""
    parts = (host, path, db_identity)
    return fnv1a64(b"\0".join(part.encode("utf-8", "surrogateescape") for part in parts))
