"""The example of a configuration is good, and complete."""

from __future__ import annotations

import tomllib

from adocd.controllers.adoc import AdocParameters
from adocd.daemon.fleet import config
from tests.conftest import REPOSITORY

CONFIGURATION = REPOSITORY / "examples" / "adocd.toml"


def test_the_configuration_is_good() -> None:
    loaded = config.load(CONFIGURATION)
    assert loaded.policy_for("/var/lib/myservice/db").controller == "adoc"
    assert loaded.policy_for("/var/lib/myservice/shards/1").controller == "adoc"
    assert loaded.policy_for("/var/lib/myservice").controller == "fixed"


def test_the_configuration_has_every_key_with_its_default() -> None:
    content = tomllib.loads(CONFIGURATION.read_text())
    defaults, loaded = config.Config(), config.load(CONFIGURATION)
    for section in ("daemon", "safety"):
        assert set(content[section]) == set(type(getattr(defaults, section)).model_fields)
    assert loaded.daemon == defaults.daemon
    assert loaded.safety == defaults.safety
    assert content["web"] == defaults.web.model_dump(mode="json")
    assert content["policy"] == defaults.policy.model_dump()
    assert set(content) == set(config.Config.model_fields)
    assert set(content["targets"][0]["parameters"]) == set(AdocParameters.model_fields)
    assert loaded.policy_for("/var/lib/myservice/db").parameters == AdocParameters().model_dump()
