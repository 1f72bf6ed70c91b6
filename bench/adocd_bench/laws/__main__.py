"""The proof of the laws on a real db_bench: `python -m adocd_bench.laws attached | sine | simulator | machine`.

- attached: every law under the real daemon, its decisions beside a straight reading of its rule on the same samples.
- sine: the thesis's sine (Warlo 2018, 4.3), without and with the toggle.
- simulator: three laws on two caps, three times each and interleaved, beside the simulator with the same options. What
  the simulator is told of the machine is measured before each round. `--keep FILE` keeps all of it as JSON, and
  `--again FILE` judges such a file without running anything.
- machine: measures that alone, and prints it as options of `adocctl simulate`.

Each prints tables in Markdown; what is in progress goes to standard error. docs/laws-proof.md has what was measured.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from adocd_bench.errors import BenchError
from adocd_bench.laws import attached, calibration, simulator, sine
from adocd_bench.laws.measure import measure
from adocd_bench.laws.readings import READINGS
from adocd_bench.run.interrupt import interruptible


def main() -> None:
    """Measure, and print the tables; status 1 where the sine does not go as the thesis has it."""
    parser = argparse.ArgumentParser(description="The proof of the laws on a real db_bench.")
    parser.add_argument("proof", choices=["attached", "sine", "simulator", "machine"])
    parser.add_argument("--seconds", type=int, help="length of each run (60); for sine, its period (120)")
    parser.add_argument("--law", action="append", choices=list(READINGS), help="only this one; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="simulator: repetitions of each run")
    parser.add_argument("--flag", action="append", default=[], metavar="NAME=VALUE", help="simulator: db_bench's")
    parser.add_argument("--whole", action="store_true", help="simulator: db_bench's own sizes, on cap-210 and cap-100")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="simulator: keep the runs here")
    parser.add_argument("--again", type=Path, metavar="FILE", help="simulator: judge these runs, and run none")
    parser.add_argument("--unmeasured", action="store_true", help="simulator: use no measurements of this machine")
    asked = parser.parse_args()
    with interruptible():
        try:
            if asked.proof == "attached":
                ok = _attached(asked.law or list(READINGS), asked.seconds or 60)
            elif asked.proof == "sine":
                ok = _sine(asked.seconds or sine.DEFAULT_PERIOD_S)
            elif asked.proof == "machine":
                ok = _machine(asked.seconds or calibration.SECONDS)
            else:
                runs = _runs(asked) if asked.again is None else simulator.read(asked.again)
                ok = _judged(runs.unmeasured() if asked.unmeasured else runs)
        except BenchError as error:
            raise SystemExit(str(error)) from None
    raise SystemExit(0 if ok else 1)


def _attached(laws: Sequence[str], seconds: int) -> bool:
    traces = []
    for law in laws:
        traces.append(attached.compared(measure(attached.plan(law, seconds))))
        sys.stdout.write(attached.trace(traces[-1]) + "\n")
    sys.stdout.write(attached.table(traces))
    return True


def _sine(period_s: int) -> bool:
    runs = [measure(sine.plan(law, period_s)) for law in ("fixed", "toggle")]
    for each in runs:
        sys.stdout.write(f"{sine.table(each)}\n{sine.summary(each)}\n\n")
    return sine.verdict(runs[-1]).holds


def _runs(asked: argparse.Namespace) -> simulator.RealRuns:
    laws, keep = asked.law or simulator.LAWS, asked.keep
    profiles = simulator.WHOLE_PROFILES if asked.whole else simulator.PROFILES
    flags = {**({} if asked.whole else simulator.QUARTER), **_flags(asked.flag)}
    runs = simulator.RealRuns(
        wal_outside_share={each: calibration.wal_outside_share(each) for each in profiles},
        bandwidth={each: calibration.bandwidth(each) for each in profiles},
    )
    for seed in range(1, asked.rounds + 1):
        # Measured before each round, since the machine's other load changes between rounds.
        runs = replace(runs, speeds=(*runs.speeds, calibration.speeds(flags, seed)))
        sys.stderr.write(runs.speeds[-1].words() + "\n")
        for profile in profiles:
            for law in laws:
                one = simulator.kept(measure(simulator.plan(law, profile, asked.seconds or 60, flags, seed)))
                runs = replace(runs, runs=(*runs.runs, one))
                if keep is not None:
                    simulator.write(keep, runs)
    return runs


def _machine(seconds: int) -> bool:
    profile = simulator.WHOLE_PROFILES[0]
    speeds = calibration.speeds({}, 1, seconds)
    device, outside = calibration.bandwidth(profile), calibration.wal_outside_share(profile)
    words = f"{speeds.options()} {device.options()} --wal-outside {outside:.3f}"
    sys.stdout.write(f"{speeds.words()}\n{device.words()}\nadocctl simulate --profile {profile} {words}\n")
    return True


def _judged(runs: simulator.RealRuns) -> bool:
    sys.stdout.write(simulator.table(runs, simulator.models(runs)))
    return True


def _flags(given: Sequence[str]) -> dict[str, int | float | str]:
    pairs = [flag.partition("=") for flag in given]
    return {name: value for name, _, value in pairs}


if __name__ == "__main__":
    main()
