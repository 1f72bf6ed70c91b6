"""The JVM and the compiled programs of tests/java_programs, as `make fixtures` and `make java-versions` leave them."""

from __future__ import annotations

import os
import re
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent.parent
PROGRAMS = REPOSITORY / "tests" / "java_programs"


def rocksdbjni_version() -> str:
    """Return the version of rocksdbjni to test with: ADOCD_ROCKSDBJNI, else the newest that is tested."""
    pom = (PROGRAMS / "pom.xml").read_text(encoding="utf-8")
    found = re.search(r"<rocksdbjni\.version>(.*)</rocksdbjni\.version>", pom)
    assert found is not None
    return os.environ.get("ADOCD_ROCKSDBJNI", found[1])


def java() -> str:
    """Return the java to start: that of ADOCD_TEST_JAVA_HOME, else the one on the path."""
    home = os.environ.get("ADOCD_TEST_JAVA_HOME")
    return "java" if home is None else str(Path(home, "bin", "java"))


def java_command(agent: Path | None, *options: str, main: str = "Lifecycle") -> list[str]:
    """Return the command that starts the `lifecycle` program, or another, with the agent in it if there is one.

    The JVM is as small and quick to start as one can be; the library lies beside the jar, because rocksdbjni would
    copy it to the temporary directory each time.
    """
    built = REPOSITORY / ".cache" / "java_programs" / rocksdbjni_version()
    assert (built / "classes" / "Lifecycle.class").is_file(), f"{built} has no programs: run `make fixtures`"
    return [
        java(),
        *([] if agent is None else [f"-javaagent:{agent}"]),
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Xmx128m",
        "-Xshare:auto",
        "-XX:-UsePerfData",
        # Newer JVMs warn of a late agent, and of rocksdbjni itself, on stderr.
        "-XX:+EnableDynamicAgentLoading",
        *(["--enable-native-access=ALL-UNNAMED"] if "ADOCD_TEST_JAVA_HOME" in os.environ else []),
        "-ea",
        f"-Djava.library.path={built / 'lib'}",
        *options,
        "-cp",
        f"{built / 'classes'}:{built / 'lib' / 'rocksdbjni.jar'}",
        main,
    ]
