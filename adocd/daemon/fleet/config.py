"""The daemon's configuration: strict TOML, every key with a default, a unit and bounds."""

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from adocd.controllers import registry
from adocd.daemon.fleet import address
from adocd.daemon.fleet.policies import PolicyConfig, Section, ShareConfig, TargetConfig
from adocd.daemon.fleet.quantities import Bytes, Seconds
from adocd.model import mistakes
from adocd.model.policy import Policy, Priority

_HOST = re.compile(r"[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z.])?|\[[0-9A-Fa-f:.]+\]")


class ConfigError(ValueError):
    """A configuration file cannot be read, or keys or values are wrong: one sentence for each, with file and key."""

    def __init__(self, *sentences: str) -> None:
        super().__init__("; ".join(sentences))
        self.sentences = sentences


class DaemonConfig(Section):
    """How the daemon itself runs."""

    tick_s: Annotated[Seconds, Field(ge=0.05, le=60, description="time between two samples of a target")] = 1.0
    lease_ttl_s: Annotated[
        Seconds,
        Field(ge=1, le=3600, description="the agent restores the originals this long after our last sign of life"),
    ] = 10.0
    memory_budget_bytes: Annotated[
        Bytes,
        Field(ge=0, description="most memory for all memtables together; 0: a quarter of the machine's memory"),
    ] = 0
    arbiter: bool = Field(
        default=False,
        strict=True,
        description="share bandwidth, space and memory out among the databases on the same disks; false: each law "
        "counts on all of it",
    )
    directories: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...],
        Field(
            max_length=1000, description="directories of databases that are only observed, because they have no agent"
        ),
    ] = ()
    history_s: Annotated[Seconds, Field(ge=10, le=86400, description="how long samples are kept in memory")] = 900.0
    log_format: Annotated[
        Literal["text", "json"], Field(description="format of a log line; json for log collectors")
    ] = "text"

    @field_validator("directories")
    @classmethod
    def _are_absolute(cls, directories: tuple[str, ...]) -> tuple[str, ...]:
        for directory in directories:
            if not directory:
                raise ValueError("a directory is empty; name it by its whole path, such as /var/lib/db")
            if not Path(directory).is_absolute():
                raise ValueError(f"a directory is named by its whole path, and {directory!r} does not begin with /")
        return directories

    @model_validator(mode="after")
    def _lease_outlives_ticks(self) -> "DaemonConfig":
        if self.lease_ttl_s < 3 * self.tick_s:
            raise ValueError(
                f"lease_ttl_s ({self.lease_ttl_s:g}) must be at least three times tick_s ({self.tick_s:g}), "
                "for the lease is renewed once a tick"
            )
        return self


class SafetyConfig(Section):
    """Limits on switching automatic compaction off, which neither law nor operator can override."""

    compaction_off_s: Annotated[Seconds, Field(ge=1, le=86400, description="longest time off at a stretch")] = 600.0
    compaction_off_l0_files: Annotated[int, Field(ge=1, le=100_000, description="most files in level 0")] = 200
    compaction_off_pending_bytes: Annotated[Bytes, Field(ge=1, description="most pending compaction bytes")] = 64 << 30


class WebConfig(Section):
    """What is served by TCP: REST, metrics and the page."""

    listen: str = Field(
        default="", max_length=64, description="ADDRESS:PORT, such as 127.0.0.1:9631 or [::1]:9631; empty: nowhere"
    )
    hosts: Annotated[
        tuple[Annotated[str, Field(max_length=253)], ...],
        Field(max_length=100, description="other host names that clients use for it, such as a reverse proxy's"),
    ] = ()
    anonymous_read: bool = Field(default=True, description="clients on this machine may read without a token")

    @field_validator("listen")
    @classmethod
    def _is_address(cls, listen: str) -> str:
        if listen:
            address.parse(listen)
        return listen

    @field_validator("hosts")
    @classmethod
    def _are_names(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if _HOST.fullmatch(host) is None:
                raise ValueError(
                    f"{host!r} is no host name; write it without scheme, port and wildcards, such as adocd.example.org"
                )
        return tuple(host.lower().rstrip(".") for host in hosts)


class Config(Section):
    """The whole configuration file."""

    daemon: DaemonConfig = DaemonConfig()
    safety: SafetyConfig = SafetyConfig()
    web: WebConfig = WebConfig()
    policy: PolicyConfig = PolicyConfig()
    targets: tuple[TargetConfig, ...] = ()
    shares: tuple[ShareConfig, ...] = ()

    def policy_for(self, path: str) -> Policy:
        """Return the policy for the database at `path`."""
        for target in self.targets:
            if target.matches(path):
                return target.policy()
        return self.policy.policy()

    def priority_for(self, path: str) -> Priority:
        """Return the weight and the floor of the database at `path`."""
        for share in self.shares:
            if share.matches(path):
                return share.priority()
        return Priority()


def load(path: Path) -> Config:
    """Read and check a configuration file.

    Raises ConfigError with one sentence for each mistake: the file, the key, what is wrong and what would be right.
    """
    try:
        content = tomllib.loads(_read(path))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # also a number of more digits than Python reads
        raise ConfigError(f"{path} is not TOML: {error}") from None
    return parse(content, str(path))


def _read(path: Path) -> str:
    """Read a regular file; a FIFO would block, and hang this reload and every later one."""
    with open(path, encoding="utf-8", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ConfigError(
                f"{path} is no regular file; write it to one, for the configuration is read again at each reload"
            )
        return stream.read()


def parse(content: dict[str, Any], name: str) -> Config:
    """Check the content of a configuration file called `name`; raises ConfigError with all that is wrong in it."""
    wrong, config = [], None
    try:
        config = Config.model_validate(content)
    except ValidationError as error:
        wrong += [_sentence(each) for each in error.errors()]
    for key, section in _policies(content):
        try:
            section.policy()
        except registry.PolicyError as error:
            wrong += [f"{key}.parameters: {sentence}" for sentence in error.sentences]
    if config is None or wrong:
        raise ConfigError(*(f"{name}: {sentence}" for sentence in wrong))
    return config


def _policies(content: Mapping[str, Any]) -> Iterator[tuple[str, PolicyConfig]]:
    """Yield the sections that are well formed and have a policy, also where others are not."""
    targets = content.get("targets")
    found = [("policy", content.get("policy", {}))]
    found += [(f"targets.{n}", given) for n, given in enumerate(targets if isinstance(targets, list) else ())]
    for key, given in found:
        with suppress(ValidationError):
            yield key, (PolicyConfig if key == "policy" else TargetConfig).model_validate(given)


def _sentence(error: Mapping[str, Any]) -> str:
    return mistakes.sentence(error, ".".join(map(str, error["loc"])), mistakes.names_beside(Config, error["loc"]))
