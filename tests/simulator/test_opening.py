"""What a law must be told and must find, and what a user has said already."""

from __future__ import annotations

import math

import pytest

from adocd.controllers import registry
from adocd.model.policy import ParameterValue, Policy
from adocd.simulator.device import device
from adocd.simulator.opening import BadSimulation, SimulationRequest, opened, suited
from adocd.simulator.run import run

CAP = 100_000_000


@pytest.mark.parametrize(
    ("controller", "parameters", "limiter"),
    [
        ("adoc", {}, None),
        ("mimd", {"max_bytes_per_s": CAP}, CAP),
        ("toggle", {"cap_bytes_per_s": CAP}, None),
        ("silk", {"bandwidth_bytes_per_s": CAP}, CAP),
        ("adoc+mimd", {"mimd.max_bytes_per_s": CAP}, CAP),
    ],
)
def test_a_profile_says_what_the_device_can_write(
    controller: str, parameters: dict[str, ParameterValue], limiter: int | None
) -> None:
    asked, policy = suited(SimulationRequest(profile="cap-100"), Policy(controller))
    assert policy.parameters == parameters
    assert asked.rate_limiter_bytes_per_s == limiter


def test_what_is_said_stays() -> None:
    asked, policy = suited(
        SimulationRequest(rate_limiter_bytes_per_s=CAP), Policy("mimd", {"max_bytes_per_s": 2 * CAP})
    )
    assert (asked.rate_limiter_bytes_per_s, policy.parameters) == (CAP, {"max_bytes_per_s": 2 * CAP})
    asked, bandwidth_off = suited(SimulationRequest(), Policy("silk", {"bandwidth": False}))
    assert asked.rate_limiter_bytes_per_s is None
    assert bandwidth_off.parameters["bandwidth"] is False


def test_without_a_cap_nobody_knows() -> None:
    asked, policy = suited(SimulationRequest(profile="uncapped"), Policy("mimd"))
    with pytest.raises(registry.PolicyError, match="needs the parameter max_bytes_per_s"):
        run(opened(asked), policy, seconds=10, tick_s=1)


def test_mistakes() -> None:
    with pytest.raises(BadSimulation, match="no device profile"):
        suited(SimulationRequest(profile="fast"), Policy("mimd"))
    with pytest.raises(registry.PolicyError, match="there is no controller"):
        suited(SimulationRequest(), Policy("magic"))


def test_what_a_machine_was_measured_at() -> None:
    asked = SimulationRequest(
        profile="cap-100", flush_bytes_per_s=1e8, compaction_bytes_per_s=5e7, wal_outside_share=0.75
    )
    machine = opened(asked).device
    assert (machine.flush_thread_bytes_per_s, machine.compaction_thread_bytes_per_s) == (1e8, 5e7)
    assert machine.wal_share == 0.25
    assert (machine.bytes_per_s, machine.read_bytes_per_s, machine.mixed_bytes_per_s) == (CAP, CAP, CAP)
    asked = SimulationRequest(
        profile="cap-100", read_bytes_per_s=8e7, mixed_bytes_per_s=1.5e8, reads_cached_share=0.25, cores=4.0
    )  # fmt: skip
    machine = opened(asked).device
    assert (machine.bytes_per_s, machine.read_bytes_per_s, machine.mixed_bytes_per_s) == (CAP, 8e7, 1.5e8)
    assert (machine.cached_share, machine.cores) == (0.25, 4.0)
    assert opened(SimulationRequest(profile="cap-100", mixed_bytes_per_s=math.inf)).device.mixed_bytes_per_s is None
    assert opened(SimulationRequest(rate_bytes_per_s=6e7)).device.client_thread_bytes_per_s == 6e7
    assert opened(SimulationRequest(workload="burst", rate_bytes_per_s=6e7)).device.client_thread_bytes_per_s == 1e8
    assert opened(SimulationRequest(profile="cap-100")).device == device("cap-100")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (SimulationRequest(flush_bytes_per_s=0.0), "one flush does more than 0 bytes/s, not 0"),
        (SimulationRequest(compaction_bytes_per_s=-1.0), "one compaction does more than 0 bytes/s, not -1"),
        (SimulationRequest(compaction_bytes_per_s=float("nan")), "one compaction does more than 0 bytes/s, not nan"),
        (SimulationRequest(read_bytes_per_s=float("inf")), "a device that reads does more than 0 bytes/s, not inf"),
        (SimulationRequest(mixed_bytes_per_s=0.0), "a device that reads and writes does more than 0 bytes/s, not 0"),
        (
            SimulationRequest(mixed_bytes_per_s=float("nan")),
            "a device that reads and writes does more than 0 bytes/s, not nan",
        ),
        (SimulationRequest(cores=0.0), "there are more than 0 cores, not 0"),
        (SimulationRequest(reads_cached_share=-0.1), "the share of reads in the page cache is 0 to 1, not -0.1"),
        (SimulationRequest(wal_outside_share=1.5), "the share of the WAL outside the cap is 0 to 1, not 1.5"),
    ],
)
def test_what_no_machine_is_measured_at(asked: SimulationRequest, sentence: str) -> None:
    with pytest.raises(BadSimulation, match=sentence):
        opened(asked)


@pytest.mark.parametrize("law", sorted(registry.LAWS))
def test_every_law_works_on_a_capped_profile_as_it_is(law: str) -> None:
    asked, policy = suited(SimulationRequest(profile="cap-210", seconds=120), Policy(law))
    assert run(opened(asked), policy, seconds=120, tick_s=1).writes > 0


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (SimulationRequest(rate_limiter_bytes_per_s=10**20), "rate_limiter_bytes_per_s"),
        (SimulationRequest(rate_limiter_bytes_per_s=0), "rate_limiter_bytes_per_s must be at least 1 MiB/s, not 0"),
        (SimulationRequest(options={"hard_pending_compaction_bytes_limit": "7"}), "68719476736 is more than 7"),
        (SimulationRequest(options={"level0_stop_writes_trigger": "5"}), "it is not so that 4 <= 20 <= 5"),
    ],
)
def test_what_no_database_can_be_opened_with(asked: SimulationRequest, words: str) -> None:
    with pytest.raises(BadSimulation, match=words):
        opened(asked)


@pytest.mark.parametrize(
    ("options", "soft", "most"),
    [
        ({}, 64 << 30, 1600 << 20),
        ({"target_file_size_base": str(8 << 20)}, 64 << 30, 200 << 20),
        ({"target_file_size_base": str(8 << 20), "max_compaction_bytes": str(77 << 20)}, 64 << 30, 77 << 20),
        ({"max_compaction_bytes": "0", "soft_pending_compaction_bytes_limit": "0"}, 256 << 30, 1600 << 20),
        ({"soft_pending_compaction_bytes_limit": "0", "hard_pending_compaction_bytes_limit": "0"}, 0, 1600 << 20),
    ],
)
def test_zeros_become_what_rocksdb_makes_of_them_at_open(options: dict[str, str], soft: int, most: int) -> None:
    family = opened(SimulationRequest(options=options)).family
    assert (family.soft_pending_compaction_bytes_limit, family.max_compaction_bytes) == (soft, most)
