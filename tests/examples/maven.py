"""The examples that are Maven projects, built into .cache."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.conftest import REPOSITORY

EXAMPLES = REPOSITORY / "examples"
BUILT = REPOSITORY / ".cache" / "examples"
#: A JVM that is there sooner, where its speed is not what is tested: other tests have the processors too.
QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def built(name: str) -> str:
    """Build examples/NAME with Maven into .cache/examples/NAME; return the classpath.

    The project leaves its classes in `classes` and the jars it needs in `lib`, below `-DbuildDirectory=`. It is built
    again only if its pom.xml or its sources have changed. Fails with what Maven says. A second process that wants the
    same project waits for the first.
    """
    directory = BUILT / name
    directory.mkdir(parents=True, exist_ok=True)
    note, now = directory / "sources.sha256", _digest(EXAMPLES / name)
    with (BUILT / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.is_file() or note.read_text() != now:
            note.unlink(missing_ok=True)
            # Maven keeps the classes of sources that are gone.
            shutil.rmtree(directory / "classes", ignore_errors=True)
            pom = EXAMPLES / name / "pom.xml"
            done = subprocess.run(
                ["mvn", "--batch-mode", "--quiet", "--file", pom, f"-DbuildDirectory={directory}", "package"],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            note.write_text(now)
    return f"{directory / 'classes'}:{directory / 'lib'}/*"


def _digest(project: Path) -> str:
    """Return a digest of all that Maven builds the project from."""
    digest = hashlib.sha256()
    for path in [project / "pom.xml", *sorted(p for p in (project / "src").rglob("*") if p.is_file())]:
        digest.update(f"{path.relative_to(project)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()
