"""The schemes: each can be run at every scale, and what one lacks is said in a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from adocd_bench.errors import BadArgument
from adocd_bench.evaluation import memory
from adocd_bench.evaluation.circumstances import SCALE_MAX, Circumstances, base_options, batch
from adocd_bench.evaluation.raw import BASELINE
from adocd_bench.evaluation.schemes import DEFAULT_SCHEMES, SCHEMES
from adocd_bench.host.device import MB

from adocd.controllers import registry
from adocd.model.knob import MIB, Knob
from adocd.model.policy import Policy


def here(scale: int = 1) -> Circumstances:
    best = batch(128 * MIB)
    return Circumstances(scale, 210 * MB, 150 * MB, best, {"max_background_jobs": 8})


@pytest.mark.parametrize("scale", [1, 4, SCALE_MAX])
@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_is_a_policy_that_can_be_had(name: str, scale: int) -> None:
    used = SCHEMES[name].used(here(scale))
    registry.create(Policy(used.policy, used.parameters))
    assert set(base_options(scale)) <= set(used.options)
    assert all(value.lstrip("-").isdigit() for value in used.options.values())
    assert (used.rate_limiter_bytes_per_s == 210 * MB) == SCHEMES[name].limiter


def test_every_law_of_ours_that_needs_a_limiter_has_one_at_the_open() -> None:
    turning = {
        scheme.name: scheme.limiter
        for scheme in SCHEMES.values()
        if Knob.RATE_LIMIT in registry.create(Policy(scheme.policy, scheme.used(here()).parameters)).knobs
    }
    assert {"silk", "mimd"} <= turning.keys()
    assert [name for name, limiter in turning.items() if not limiter and name != "toggle"] == []


def test_each_default_scheme_has_the_baselines_memory_or_a_twin_with_the_same() -> None:
    assert DEFAULT_SCHEMES[0] == BASELINE
    block = [SCHEMES[name].used(here()) for name in DEFAULT_SCHEMES]
    found = {used.name: memory.twin(used, block[0], block) for used in block}
    assert {name: other for name, other in found.items() if other} == {
        "adoc": "default-with-adoc-memory",
        "tide": "default-with-tide-memory",
        "grid-best": "grid-best-within-memory",
    }
    assert None not in found.values()


def test_a_twin_has_exactly_the_same_memory_or_the_baselines() -> None:
    def in_block(*names: str) -> dict[str, str | None]:
        block = [SCHEMES[name].used(here()) for name in ("default", *names)]
        return {used.name: memory.twin(used, block[0], block) for used in block[1:]}

    assert in_block("adoc", "default-with-toggle-memory") == {"adoc": None, "default-with-toggle-memory": ""}
    assert in_block("adoc", "adoc-threads") == {"adoc": "adoc-threads", "adoc-threads": ""}
    assert in_block("toggle", "toggle-two-memtables") == {"toggle": "toggle-two-memtables", "toggle-two-memtables": ""}
    assert in_block("tide", "tide-limiter", "default-with-tide-memory", "default-with-tide-limiter") == {
        "tide": "default-with-tide-memory",
        "tide-limiter": "default-with-tide-limiter",
        "default-with-tide-memory": "",
        "default-with-tide-limiter": "",
    }
    assert in_block("tide-limiter", "default-with-tide-memory")["tide-limiter"] == "default-with-tide-memory"
    assert in_block("silk-o", "silk", "bad") == {"silk-o": None, "silk": "", "bad": ""}


@pytest.mark.parametrize("scale", [1, 10, 16, 32])
def test_a_twin_is_one_at_every_scale(scale: int) -> None:
    """Memtables are rounded one by one, and a budget as a whole."""
    names = ("default", "adoc", "default-with-adoc-memory", "tide", "default-with-tide-memory", "toggle")
    block = [SCHEMES[name].used(here(scale)) for name in names]
    found = {used.name: memory.twin(used, block[0], block) for used in block}
    assert (found["adoc"], found["tide"], found["toggle"]) == (
        "default-with-adoc-memory",
        "default-with-tide-memory",
        None,
    )


@pytest.mark.parametrize("scale", [1, 16])
def test_the_most_that_memtables_take(scale: int) -> None:
    most = {name: memory.most_bytes(SCHEMES[name].used(here(scale))) for name in ("default", "adoc", "toggle", "silk")}
    in_mib = {name: None if size is None else size * scale // MIB for name, size in most.items()}
    assert in_mib == {"default": 128, "adoc": 1024, "toggle": 384, "silk": 128}


def test_of_a_law_that_nobody_knows_the_memory_is_not_known() -> None:
    used = SCHEMES["default"].used(here())
    assert memory.most_bytes(replace(used, policy="of-another-package")) is None
    assert memory.most_bytes(replace(used, policy="manual", parameters={"batch_size": MIB})) is None
    assert memory.most_bytes(replace(used, options={})) is None


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
        ("toggle", Circumstances(1, 210 * MB), "rate that flushes alone reach"),
        ("silk", Circumstances(), "bandwidth is not known here: use a profile with a cap"),
        ("mimd", Circumstances(1, 10 * MB), "the scheme mimd cannot be run here: mimd: max_bytes_per_s"),
    ],
)
def test_what_a_scheme_lacks_is_said(name: str, circumstances: Circumstances, sentence: str) -> None:
    with pytest.raises(BadArgument, match=sentence):
        SCHEMES[name].used(circumstances)


def test_silks_floor_flushes_what_clients_write_in_a_peak() -> None:
    """Above 0.75 T the law holds, up to T clients may use, and at most 57 % of that are writes (silk-atc19, 6.2)."""
    for name in ("silk-floor", "silk-floor-bandwidth"):
        given = SCHEMES[name].used(here()).parameters
        assert given["floor_bytes_per_s"] == 126 * MB >= 0.57 * given["bandwidth_bytes_per_s"]
    assert "floor_bytes_per_s" not in SCHEMES["silk"].used(here()).parameters
    halves = [SCHEMES[name].used(here()).parameters for name in ("silk-bandwidth", "silk-floor-bandwidth")]
    assert [each["hold"] for each in halves] == [False, False]


def test_stability_at_36_has_the_component_constraint_of_those_it_is_compared_with() -> None:
    used = SCHEMES["stability-36"].used(here())
    stop = used.parameters["stop_factor"] * int(used.options["level0_file_num_compaction_trigger"])
    others = [SCHEMES[name].used(here()).options for name in ("default", "spring-and-gear")]
    assert {int(each["level0_stop_writes_trigger"]) for each in others} == {stop} == {36}
