"""Where to listen, and which of it only this machine can reach."""

from __future__ import annotations

import pytest

from adocd.daemon.fleet import address, config


@pytest.mark.parametrize(
    ("given", "shown", "is_loopback"),
    [
        ("127.0.0.1:9631", "127.0.0.1:9631", True),
        ("localhost:9631", "127.0.0.1:9631", True),
        ("127.8.8.8:0", "127.8.8.8:0", True),
        ("[::1]:9631", "[::1]:9631", True),
        ("[0:0:0:0:0:0:0:1]:9631", "[::1]:9631", True),
        ("[::ffff:127.0.0.1]:9631", "[::ffff:127.0.0.1]:9631", True),
        ("0.0.0.0:80", "0.0.0.0:80", False),
        ("[::]:80", "[::]:80", False),
        ("10.1.2.3:65535", "10.1.2.3:65535", False),
        ("[::ffff:10.1.2.3]:80", "[::ffff:a01:203]:80", False),
    ],
)
def test_an_address(given: str, shown: str, is_loopback: bool) -> None:
    parsed = address.parse(given)
    assert parsed.is_loopback == is_loopback
    if "ffff" not in given:
        assert str(parsed) == shown
    assert address.parse(str(parsed)) == parsed


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("9631", "is ADDRESS:PORT, such as 127.0.0.1:9631"),
        ("", "is ADDRESS:PORT"),
        ("127.0.0.1:", "is ADDRESS:PORT"),
        ("127.0.0.1:65536", "is ADDRESS:PORT"),
        ("127.0.0.1:-1", "is ADDRESS:PORT"),
        ("127.0.0.1:\u0661", "is ADDRESS:PORT"),
        ("example.org:80", "names are not looked up"),
        (":80", "is no IP address"),
        ("::1:80", "an IPv6 address in brackets, and no other"),
        ("[127.0.0.1]:80", "an IPv6 address in brackets, and no other"),
        ("[::1:80", "is no IP address"),
    ],
)
def test_what_is_none(given: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("[", r"\[")):
        address.parse(given)


def test_the_configuration_has_them() -> None:
    parsed = config.parse({"web": {"listen": "[::1]:9631", "hosts": ["Adocd.Example.org.", "[2001:DB8::1]"]}}, "x")
    assert parsed.web.listen == "[::1]:9631"
    assert parsed.web.hosts == ("adocd.example.org", "[2001:db8::1]")
    assert parsed.web.anonymous_read


@pytest.mark.parametrize(
    ("web", "words"),
    [
        ({"listen": "here"}, r"web.listen: an address to listen on is ADDRESS:PORT, .* not 'here'"),
        ({"hosts": ["https://a.example"]}, r"web.hosts: 'https://a.example' is no host name; write it without scheme"),
        ({"hosts": ["a.example:80"]}, "is no host name"),
        ({"hosts": ["*.example"]}, "is no host name"),
        ({"hosts": [""]}, "is no host name"),
        ({"host": ["a"]}, r"web: there is no key 'host'; did you mean hosts\?"),
    ],
)
def test_what_the_configuration_cannot_have(web: dict[str, object], words: str) -> None:
    with pytest.raises(config.ConfigError, match=words):
        config.parse({"web": web}, "x")
