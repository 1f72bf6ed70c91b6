"""What every law must offer, whichever it is."""

import pytest

from adocd.controllers import registry
from adocd.model.knob import Knob
from adocd.model.policy import Policy
from tests.builders import sample


@pytest.mark.parametrize("name", sorted(registry.LAWS))
def test_a_law_says_what_it_is(name: str) -> None:
    law = registry.LAWS[name]
    assert law.name == name
    assert law.summary
    assert law.source
    assert law.period_s > 0
    assert all(isinstance(knob, Knob) for knob in law.knobs)
    assert law.__doc__


@pytest.mark.parametrize("name", sorted(registry.LAWS))
def test_a_law_leaves_a_quiet_database_alone(name: str) -> None:
    law = registry.create(Policy(name))
    assert all(law.step(sample(monotonic_s=float(n))) is None for n in range(100))


def test_the_default_changes_nothing() -> None:
    assert not registry.LAWS[registry.DEFAULT].knobs
