"""Compile an agent the first time a command needs it, so that users need no second command."""

from pathlib import Path

from adocd.cli.terminal import say
from adocd.process import compiled, java_agent, native
from adocd.process.compiled import NativeError


def find_or_build_agent() -> None:
    """Compile the agent if it is missing. Raises NativeError."""
    library = compiled.rocksdb()
    try:
        native.find(library)
    except NativeError:
        say("compiling the native agent, for about a minute", err=True)
        native.product().build(library)


def find_or_build_java_agent() -> Path:
    """Build the Java agent if it is missing, and return the jar. Raises NativeError."""
    try:
        return java_agent.find()
    except NativeError:
        say("building the Java agent with Maven", err=True)
        return java_agent.build()
