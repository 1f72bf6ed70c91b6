"""The examples that run RocksDB in a JVM, as this bench starts them, and what they print."""

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import adocd
from adocd_bench.errors import ProgramMissing, RunFailed
from adocd_bench.run.child import Child, child, wait_until

_EXAMPLES = Path(adocd.__file__).parent.parent / "examples"
_SECOND = re.compile(r"^ *\d+ s  (\d+) records/s  longest put (\d+\.\d) ms$", re.MULTILINE)
_TOTAL = re.compile(
    r"^total: (\d+) records in (\d+\.\d) s, (\d+\.\d) s of processor time in RocksDB's process, "
    r"longest put (\d+\.\d) ms$",
    re.MULTILINE,
)
#: Kafka and three hundred stores take their time.
_BEGINS_WITHIN_S, _ENDS_WITHIN_S = 180.0, 120.0


@dataclass(frozen=True, slots=True)
class Example:
    """A program of the repository's examples.

    Attributes:
        name: its directory.
        title: for tables and pictures.
        main: its main class.
        rocksdb: what it runs on.

    """

    name: str
    title: str
    main: str
    rocksdb: str

    def classpath(self) -> str:
        """Build it with Maven, and return the classpath. Raises ProgramMissing."""
        project = _EXAMPLES / self.name / "pom.xml"
        if not project.is_file():
            raise ProgramMissing(f"{project} is not there: run this in a checkout of adocd")
        try:
            built = subprocess.run(["mvn", "-q", "-B", "-f", project, "package"], capture_output=True, text=True,
                                   check=False)  # fmt: skip
        except FileNotFoundError:
            raise ProgramMissing("Maven is not installed: apt-get install maven openjdk-17-jdk-headless") from None
        if built.returncode != 0:
            raise ProgramMissing(f"{self.title} cannot be built: {(built.stdout + built.stderr).strip()[-500:]}")
        target = project.parent / "target"
        return f"{target / 'classes'}:{target / 'lib'}/*"


EXAMPLES: Mapping[str, Example] = {
    each.name: each
    for each in (
        Example("kafka-streams", "Kafka Streams", "net.adocd.examples.orders.Orders", "rocksdbjni"),
        Example("flink", "Flink", "net.adocd.examples.flink.Payments", "frocksdbjni"),
    )
}


@dataclass(frozen=True, slots=True)
class SecondOfPuts:
    """What the program did in one second."""

    records: int
    longest_put_ms: float


@dataclass(frozen=True, slots=True)
class Total:
    """What it says at its end; `cpu_s` is the processor time of RocksDB's process, without Kafka's."""

    records: int
    seconds: float
    cpu_s: float
    longest_put_ms: float


@dataclass(frozen=True, slots=True)
class RunningExample:
    """An example that puts records."""

    example: Example
    child: Child
    began_s: float

    @property
    def pid(self) -> int:
        """The process that RocksDB is in."""
        return self.child.pid

    def seconds(self) -> tuple[SecondOfPuts, ...]:
        """Return the seconds that it has told so far."""
        return seconds_in(self.child.said())

    def total(self) -> Total:
        """Wait for its end, and return what it says then. Raises RunFailed."""
        self.child.wait(time.monotonic() - self.child.started_s + _ENDS_WITHIN_S)
        return total_in(self.child.said())


def seconds_in(said: str) -> tuple[SecondOfPuts, ...]:
    """Read the lines of the seconds."""
    return tuple(SecondOfPuts(int(records), float(longest)) for records, longest in _SECOND.findall(said))


def total_in(said: str) -> Total:
    """Read the last line. Raises RunFailed if there is none."""
    found = _TOTAL.search(said)
    if found is None:
        raise RunFailed(f"the example has ended without a total: {said.strip()[-200:]}")
    return Total(int(found[1]), float(found[2]), float(found[3]), float(found[4]))


@contextlib.contextmanager
def running(
    example: Example, classpath: str, directory: Path, room: Path, agent: Path | None, *options: str
) -> Iterator[RunningExample]:
    """Run it, with the agent in it if there is one, and wait for its first record. Raises RunFailed."""
    command = ["java", *([] if agent is None else [f"-javaagent:{agent}"]), "-cp", classpath, example.main]
    with child(example.name, [*command, "--directory", str(directory), *options], room) as started:
        wait_until(
            lambda: bool(seconds_in(started.said())),
            f"{example.title} put no record",
            started,
            within_s=_BEGINS_WITHIN_S,
        )
        yield RunningExample(example, started, time.monotonic() - 1)


def options(*, seconds: int = 0, stores: int = 1, records_per_s: int = 0, limited: bool = True) -> list[str]:
    """Return the options of a run; `limited`: with the example's own rate limiter, by which it stalls."""
    asked = ["--stores", str(stores), "--records-per-s", str(records_per_s)]
    return asked + (["--seconds", str(seconds)] if seconds else []) + ([] if limited else ["--rate-limiter", "0"])
