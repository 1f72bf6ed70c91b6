"""Where the web process listens: an address of this machine and a port."""

import ipaddress
from dataclasses import dataclass

_NAME = "localhost"


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address and a TCP port; port 0 means any free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse(given: str) -> Address:
    """Parse `127.0.0.1:9631`, `[::1]:9631` or `localhost:9631`; raises ValueError with one sentence."""
    host, colon, port = given.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65535):
        raise ValueError(f"an address to listen on is ADDRESS:PORT, such as 127.0.0.1:9631, not {given!r}")
    bracketed = host.startswith("[") and host.endswith("]")
    bare = "127.0.0.1" if host == _NAME else host[1:-1] if bracketed else host
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        raise ValueError(
            f"{host!r} is no IP address of this machine, such as 127.0.0.1, 0.0.0.0 or [::1]; names are not looked up"
        ) from None
    if (address.version == 6) != bracketed:
        raise ValueError(f"write an IPv6 address in brackets, and no other, as in [::1]:9631, not {given!r}")
    return Address(str(address), int(port))


def is_loopback(host: str) -> bool:
    """Whether this is a loopback address, including an IPv4-mapped IPv6 one; False for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
