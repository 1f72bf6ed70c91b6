"""The command `adocd`, also `python -m adocd`."""

import contextlib
import sys


def main() -> None:
    """Run the command.

    `adocd exec -- PROGRAM` without options becomes the program at once: Typer and pydantic would take most of what it
    costs. If that fails, the command says why.
    """
    if sys.argv[1:3] == ["exec", "--"] and len(sys.argv) > 3:
        from adocd.process import compiled  # noqa: PLC0415
        from adocd.process import exec as program  # noqa: PLC0415
        from adocd.targets import run_dir  # noqa: PLC0415

        with contextlib.suppress(program.CannotAttach, compiled.NativeError, run_dir.BadRunDir):
            program.become(sys.argv[3:], program.AgentSettings())
    from adocd.cli import adocd  # noqa: PLC0415

    adocd.main()


if __name__ == "__main__":
    main()
