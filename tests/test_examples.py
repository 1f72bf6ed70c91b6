"""What examples/ offers is good, and complete."""

from __future__ import annotations

import tomllib

from adocd.controllers.adoc import AdocParameters
from adocd.daemon import config
from tests.conftest import REPOSITORY

CONFIGURATION = REPOSITORY / "examples" / "adocd.toml"


def test_the_configuration_is_good() -> None:
    assert config.load(CONFIGURATION).policy_for("/var/lib/kvrocks/db").controller == "adoc"


def test_the_configuration_has_every_key_with_its_default() -> None:
    text = CONFIGURATION.read_text()
    content = tomllib.loads(text)
    defaults = config.Config()
    assert content["daemon"] | {"run_dir": None} == defaults.daemon.model_dump()
    assert "# run_dir" in text
    assert content["policy"] | {"parameters": {}} == defaults.policy.model_dump()
    assert content["targets"][0]["parameters"] == AdocParameters().model_dump()
