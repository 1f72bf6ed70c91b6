"""Laws of other packages that are no good: each is a sentence, and what is good beside it can be used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from adocd.controllers import registry
from adocd.model.policy import Policy
from tests.conftest import REPOSITORY

GOOD = """
from adocd.controllers.base import Controller, Needs, Parameters
from adocd.model.knob import Knob

class Law(Controller):
    name = "{name}"
    summary = source = "a test"
    period_s = 1.0
    knobs = frozenset({{Knob.BATCH_SIZE}})

    def __init__(self, parameters):
        {body}

    def step(self, sample):
        return None
"""


class Packages:
    """A directory of installed packages, each with one law."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def install(self, name: str, source: str, *, law: str = "Law", module: str | None = None) -> None:
        """Write a module and what an installer leaves of its entry point."""
        module = module or f"theirs_{name.replace('-', '_')}".lower()
        (self.root / f"{module}.py").write_text(source)
        info = self.root / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[adocd.controllers]\n{name} = {module}:{law}\n")
        importlib.invalidate_caches()
        registry.forget()


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Packages(tmp_path)
    registry.forget()
    for name in [name for name in sys.modules if name.startswith("theirs_")]:
        del sys.modules[name]


def law(name: str, body: str = "pass", **attributes: str) -> str:
    source = GOOD.format(name=name, body=body)
    return source + "".join(f"\nLaw.{attribute} = {value}\n" for attribute, value in attributes.items())


def test_a_good_one_is_listed_after_ours(packages: Packages) -> None:
    packages.install("calm", law("calm"))
    assert list(registry.laws()) == [*registry.LAWS, "calm"]
    assert registry.create(Policy("calm")).name == "calm"


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("import nothing_of_the_kind", "bad of theirs_bad 1.0: theirs_bad:Law cannot be loaded: ModuleNotFoundError"),
        ("raise SystemExit(3)", "theirs_bad:Law cannot be loaded: SystemExit: 3"),
        ("1 / 0", "theirs_bad:Law cannot be loaded: ZeroDivisionError: division by zero"),
        ("def broken(:", "theirs_bad:Law cannot be loaded: SyntaxError"),
        ("x = 1", "theirs_bad:Law cannot be loaded: AttributeError"),
        ("Law = 7", "theirs_bad:Law is not a subclass of adocd.controllers.base.Controller"),
        ("from adocd.controllers.base import Controller as Law", "theirs_bad:Law has no step"),
        (law("good"), "theirs_bad:Law is named 'good': it must be the entry point's name"),
        (law("bad", summary="7"), "theirs_bad:Law.summary must be text"),
        (law("bad", period_s="float('nan')"), "theirs_bad:Law.period_s must be a time in seconds, not nan"),
        (law("bad", period_s="0"), "theirs_bad:Law.period_s must be a time in seconds, not 0"),
        (law("bad", knobs="{'batch_size'}"), "theirs_bad:Law.knobs must be a frozenset of adocd.model.knob.Knob"),
        (law("bad", needs="'tickers'"), "theirs_bad:Law.needs must be an adocd.controllers.base.Needs"),
        (law("bad", switches="7"), "theirs_bad:Law.switches must say by knob which parameter takes it away"),
        (law("bad", parameters_model="int"), "theirs_bad:Law.parameters_model must be a subclass of"),
        (
            law("bad", parameters_model="type('P', (Parameters,), {'__annotations__': {'x': list}, 'x': []})"),
            "must have only numbers, text and switches as defaults, but x has another",
        ),
    ],
)
def test_a_bad_one_is_a_sentence(packages: Packages, source: str, sentence: str) -> None:
    packages.install("bad", source)
    packages.install("calm", law("calm"))
    (problem,) = registry.problems().values()
    assert sentence in problem
    assert "\n" not in problem
    assert list(registry.laws()) == [*registry.LAWS, "calm"]
    with pytest.raises(registry.PolicyError) as error:
        registry.create(Policy("bad"))
    assert str(error.value).startswith(f"there is no controller 'bad'; {problem}; there are adoc, ")


def test_our_names_are_taken(packages: Packages) -> None:
    packages.install("adoc", law("adoc"))
    assert list(registry.problems().values()) == [
        "adoc of theirs_adoc 1.0: the name 'adoc' is one of adocd's own laws: choose another"
    ]
    assert registry.laws()["adoc"] is registry.LAWS["adoc"]


def test_the_first_of_two_packages_has_the_name(packages: Packages) -> None:
    packages.install("calm", law("calm"), module="theirs_a")
    packages.install("calm", law("calm"), module="theirs_b")
    assert list(registry.problems()) == ["calm of theirs_b 1.0"]
    assert registry.laws()["calm"].__module__ == "theirs_a"


@pytest.mark.parametrize("name", ["Calm", "calm law", "calm+adoc", "calm.x", "-calm"])
def test_a_name_must_fit_into_policies(packages: Packages, name: str) -> None:
    packages.install(name, law(name), module="theirs_calm")
    (problem,) = registry.problems().values()
    assert "in small letters, digits and dashes" in problem


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("1 / 0", "calm cannot be made: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "calm cannot be made: SystemExit: 3"),
        ("self.knobs = {'threads'}", "calm cannot be used: its knobs must be a frozenset of adocd.model.knob.Knob"),
        (
            "self.optional_knobs = None",
            "calm cannot be used: its optional_knobs must be a frozenset of adocd.model.knob",
        ),
        ("self.period_s = float('nan')", "calm cannot be used: its period_s must be a time in seconds, not nan"),
        ("self.period_s = '5'", "calm cannot be used: its period_s must be a time in seconds, not '5'"),
        ("self.needs = None", "calm cannot be used: its needs must be an adocd.controllers.base.Needs"),
    ],
)
def test_one_that_cannot_be_made_is_a_bad_policy(packages: Packages, body: str, sentence: str) -> None:
    """Alone and beside another law: what it sets itself is looked at, too."""
    packages.install("calm", law("calm", body))
    for controller in ("calm", "calm+fixed"):
        with pytest.raises(registry.PolicyError, match=sentence):
            registry.create(Policy(controller))


def test_the_page_shows_all_of_the_example() -> None:
    """Imports included: what is copied from there runs."""
    page = (REPOSITORY / "docs" / "writing-a-controller.md").read_text(encoding="utf-8")
    shown = page.partition("```python\n")[2].partition("```")[0]
    example = (REPOSITORY / "examples" / "controller" / "steady_batch.py").read_text(encoding="utf-8")
    assert example.endswith(f'"""\n\n{shown}')


def test_ours_are_made_without_looking_for_others(packages: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking takes as long as there are packages."""
    monkeypatch.setattr(metadata, "entry_points", lambda **_: pytest.fail("it looked"))
    registry.forget()
    registry.create(Policy("adoc+mimd", {"mimd.max_bytes_per_s": 10**9}))
