"""Builds the Java agent with Maven, and finds it: one jar for every RocksDB and every machine.

It is cached with a note of the sources it was built from, so that it is rebuilt when these change.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from adocd import __version__
from adocd.process.bundled import agent_directory
from adocd.process.compiled import NativeError, digest, read_note, unwritable

JAR = "adocd-agent.jar"
_PACKAGES = "maven openjdk-17-jdk-headless"
#: The files below agents/java that the jar is built from.
_SOURCES = ("pom.xml", "src/main/**/*")


def kept() -> Path:
    """Return the path of the build; it may not exist yet."""
    cache = os.environ.get("XDG_CACHE_HOME")
    base = Path(cache) if cache else Path.home() / ".cache"
    return base / "adocd" / "java-agent" / JAR


def find() -> Path:
    """Find the jar that was built from this adocd's sources. Raises NativeError with the remedy."""
    jar = kept()
    if not jar.is_file():
        raise NativeError("the Java agent has not been built; run `adocd agent build --java`")
    if read_note(_note()).get("sources") != digest(_sources(), _SOURCES):
        raise NativeError(
            f"the Java agent at {jar} was built from other sources than those of adocd {__version__}; "
            "run `adocd agent build --java`"
        )
    return jar


def build(output: Path | None = None, work: Path | None = None) -> Path:
    """Build it into the cache, or to the file `output`. Raises NativeError.

    Builds in the directory `work`, so that a second build is quick; without it in a temporary directory.
    """
    missing = [tool for tool in ("mvn", "javac") if shutil.which(tool) is None]
    if missing:
        raise NativeError(f"{', '.join(missing)} missing; install: apt-get install {_PACKAGES}")
    sources, destination = _sources(), output or kept()
    note = {"adocd": __version__, "sources": digest(sources, _SOURCES)}
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="adocd-build-") as temporary:
            directory = (work or Path(temporary)).resolve()
            _run_maven(sources, directory)
            # A running JVM may have the old file mapped: replace it with a rename, never write into it.
            staged = destination.with_name(f".{destination.name}.{os.getpid()}")
            shutil.copy2(directory / JAR, staged)
        staged.replace(destination)
        if output is None:
            _note().write_text(json.dumps(note), encoding="utf-8")
    except OSError as error:
        raise unwritable(destination, error, is_chosen=output is not None) from None
    return destination


def _note() -> Path:
    return kept().with_suffix(".json")


def _sources() -> Path:
    try:
        return agent_directory("java")
    except FileNotFoundError as error:
        raise NativeError(str(error)) from None


def _run_maven(sources: Path, work: Path) -> None:
    options = [f"-DbuildDirectory={work}", f"-Drevision={__version__}", "-Dmaven.test.skip=true"]
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(sources / "pom.xml"), *options, "package"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line] or ["no error was named"]
        raise NativeError(f"`mvn package` in {sources} failed: {said[0].strip()} (needed: apt-get install {_PACKAGES})")
