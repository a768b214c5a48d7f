"""Options are validated: names, types and missing options, with advice in each error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import BadOption, PluginError, UnknownName
from gymposium.match.failures import FailurePolicy
from gymposium.util.settings import dump_settings, read_settings


@dataclass(frozen=True)
class Everything:
    project: str
    every: int = 1
    rate: float = 0.5
    deep: bool = False
    mode: Literal["online", "offline"] | None = None
    tags: tuple[str, ...] = ()
    made: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError("every must be 1 or more.")


def read(**given: Any) -> Any:
    return read_settings("[loggers.all]", Everything, given)


def test_missing_options_get_their_defaults() -> None:
    assert read(project="p") == Everything("p")
    assert read(project="p", every=3, rate=2, deep=True, mode="offline", tags=["a", "b"]) == Everything(
        "p", 3, 2.0, True, "offline", ("a", "b")
    )
    assert type(read(project="p", rate=2).rate) is float
    assert read(project="p", mode=None).mode is None  # from Python; a file cannot say it


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "project is missing. It must be text"),
        ({"project": 3}, "project=3 must be text"),
        ({"project": "p", "every": "3"}, "every='3' must be an integer"),
        ({"project": "p", "every": True}, "every=True must be an integer"),
        ({"project": "p", "every": 1.0}, "every=1.0 must be an integer"),
        ({"project": "p", "every": 0}, "every must be 1 or more"),
        ({"project": "p", "rate": False}, "rate=False must be a number"),
        ({"project": "p", "deep": 1}, "deep=1 must be true or false"),
        ({"project": "p", "mode": "on"}, "mode='on' must be 'online' or 'offline'"),
        ({"project": "p", "tags": "a"}, "tags='a' must be a list, each item text"),
        ({"project": "p", "tags": ["a", 1]}, r"tags=\['a', 1\] must be a list"),
    ],
)
def test_wrong_type_is_refused_with_advice(given: Mapping[str, Any], message: str) -> None:
    with pytest.raises(BadOption, match=rf"^\[loggers.all\]: {message}"):
        read(**given)


@pytest.mark.parametrize("name", ["projekt", "made"])
def test_unknown_option_suggests_the_nearest(name: str) -> None:
    with pytest.raises(UnknownName, match=r"Unknown option of \[loggers.all\]"):
        read(project="p", **{name: "x"})


def test_settings_without_options_say_so() -> None:
    @dataclass(frozen=True)
    class Nothing:
        pass

    assert read_settings("[loggers.n]", Nothing, {}) == Nothing()
    with pytest.raises(UnknownName, match="It has no options"):
        read_settings("[loggers.n]", Nothing, {"a": 1})


@dataclass(frozen=True)
class Odd:
    where: bytes = b""
    pair: tuple[int, str] = (0, "")


@pytest.mark.parametrize("given", [{"where": "x"}, {"pair": [1, "x"]}])
def test_inexpressible_type_is_the_plugins_fault(given: dict[str, Any]) -> None:
    with pytest.raises(PluginError, match="which a config file cannot express"):
        read_settings("[loggers.odd]", Odd, given)
    with pytest.raises(PluginError, match="must be a dataclass"):
        read_settings("[loggers.odd]", dict, given)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(st.dictionaries(st.sampled_from(["project", "every", "rate", "deep", "mode", "tags"]), PLAIN | st.lists(PLAIN)))
def test_fields_have_their_types_or_the_table_is_refused(given: dict[str, Any]) -> None:
    try:
        settings = read(**given)
    except BadOption:
        return
    assert [type(v) for v in (settings.project, settings.every, settings.rate, settings.deep)] == [
        str, int, float, bool
    ]  # fmt: skip
    assert settings.mode in (None, "online", "offline")
    assert all(isinstance(tag, str) for tag in settings.tags)


@dataclass(frozen=True)
class Policies:
    """Settings with a class that reads its text with `parse`."""

    game: str
    policy: FailurePolicy
    other: FailurePolicy | None = None
    many: tuple[str, ...] = ()


@pytest.mark.parametrize("text", ["forfeit", "retry(2)", "penalty(0.5,2)"])
@pytest.mark.parametrize("other", [None, FailurePolicy("random")])
def test_settings_round_trip(text: str, other: FailurePolicy | None) -> None:
    settings = Policies("hex", FailurePolicy.parse(text), other, ("a", "b"))
    table = json.loads(json.dumps(dump_settings(settings)))
    assert table == {"game": "hex", "policy": text, "other": None if other is None else "random", "many": ["a", "b"]}
    assert read_settings("t", Policies, table) == settings


@pytest.mark.parametrize(
    ("policy", "said"), [("nope", "Unknown policy on_illegal='nope'"), (3, "policy=3 must be text")]
)
def test_unparsable_text_is_refused(policy: object, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        read_settings("t", Policies, {"game": "hex", "policy": policy})
