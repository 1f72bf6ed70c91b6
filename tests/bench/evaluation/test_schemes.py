"""The schemes: each can be run at every scale, and what one lacks is said in a sentence."""

from __future__ import annotations

import pytest
from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.schemes import (
    BASELINE,
    DEFAULT_SCHEMES,
    SCALE_MAX,
    SCHEMES,
    Circumstances,
    base_options,
    batch,
)
from adocd_bench.host.device import MB

from adocd.controllers import registry
from adocd.model.knob import MIB
from adocd.model.policy import Policy


def here(scale: int = 1) -> Circumstances:
    return Circumstances(scale, 210 * MB, 150 * MB, batch(128 * MIB))


@pytest.mark.parametrize("scale", [1, 4, SCALE_MAX])
@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_is_a_policy_that_can_be_had(name: str, scale: int) -> None:
    used = SCHEMES[name].used(here(scale))
    registry.create(Policy(used.policy, used.parameters))
    assert set(base_options(scale)) <= set(used.options)
    assert all(value.lstrip("-").isdigit() for value in used.options.values())
    assert (used.rate_limiter_bytes_per_s == 210 * MB) == SCHEMES[name].limiter


def test_every_law_of_ours_that_needs_a_limiter_has_one_at_the_open() -> None:
    turning = set()
    for scheme in SCHEMES.values():
        knobs = registry.create(Policy(scheme.policy, scheme.used(here()).parameters)).knobs
        if any(str(knob) == "rate_limit" for knob in knobs) and scheme.name != "toggle":
            turning.add(scheme.name)
            assert scheme.limiter, scheme.name
    assert turning >= {"silk", "mimd"}


def test_the_defaults_are_six_and_the_baseline_is_the_first() -> None:
    assert DEFAULT_SCHEMES == (BASELINE, "auto-tuned", "grid-best", "adoc", "silk", "toggle")
    assert set(DEFAULT_SCHEMES) <= set(SCHEMES)


def test_a_scale_divides_sizes_and_bounds_and_leaves_counts_and_bandwidths() -> None:
    one, four = SCHEMES["adoc"].used(here(1)), SCHEMES["adoc"].used(here(4))
    for option in ("write_buffer_size", "max_bytes_for_level_base", "delayed_write_rate"):
        assert int(one.options[option]) == 4 * int(four.options[option])
    assert one.options["level0_stop_writes_trigger"] == four.options["level0_stop_writes_trigger"]
    assert one.parameters["batch_max_bytes"] == 512 * MIB == 4 * four.parameters["batch_max_bytes"]
    silk = SCHEMES["silk"].used(here(4))
    assert silk.parameters["bandwidth_bytes_per_s"] == 210 * MB


def test_the_adoc_papers_settings_for_silk() -> None:
    options = [SCHEMES[name].used(here()).options for name in ("silk-d", "silk-p", "silk-o")]
    assert [int(each["max_background_jobs"]) for each in options] == [2, 4, 8]
    assert [int(each["write_buffer_size"]) // MIB for each in options] == [64, 128, 512]


@pytest.mark.parametrize(
    ("name", "circumstances", "sentence"),
    [
        ("grid-best", Circumstances(), "needs the grid's result: run `adocd bench grid` first"),
        ("toggle", Circumstances(1, 210 * MB), "what flushing alone reaches"),
        ("silk", Circumstances(), "bandwidth is not known here: use a profile with a cap"),
        ("mimd", Circumstances(1, 10 * MB), "the scheme mimd cannot be run here: mimd: max_bytes_per_s"),
    ],
)
def test_what_a_scheme_lacks_is_said(name: str, circumstances: Circumstances, sentence: str) -> None:
    with pytest.raises(BadArgument, match=sentence):
        SCHEMES[name].used(circumstances)
