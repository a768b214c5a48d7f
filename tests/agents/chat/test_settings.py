"""The settings of a language-model player: options, files, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import BadOption, GymposiumError, UnknownName
from gymposium_agents.chat.settings import PlayerSettings, parse_options


def test_options_change_only_named_settings() -> None:
    trained = PlayerSettings(style="full", reply="json", max_tokens=8)
    text = "context=last-3&reply=tags&prompt=compact&temperature=0.6&max_tokens=256&thinking=true"
    assert trained.with_options(parse_options(text)) == PlayerSettings("compact", "tags", 256, "last-3", 0.6, True)
    assert trained.with_options({}) == trained
    assert trained.with_options({"max_tokens": "9"}) == PlayerSettings("full", "json", 9)


@given(
    st.dictionaries(
        st.text(st.characters(codec="ascii", exclude_characters="=&"), min_size=1),
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="&%"), min_size=1),
    )
)
def test_options_round_trip(options: dict[str, str]) -> None:
    assert parse_options("&".join(f"{name}={value}" for name, value in options.items())) == options


def test_values_may_be_percent_encoded() -> None:
    assert parse_options("engine=http://127.0.0.1:8123/?a=b%26c") == {"engine": "http://127.0.0.1:8123/?a=b&c"}
    assert parse_options(None) == {}


@pytest.mark.parametrize("text", ["context", "=full", "context=", "context=full&&reply=tags", "context=full&"])
def test_refuses_malformed_options(text: str) -> None:
    with pytest.raises(BadOption, match="not of the form name=value"):
        parse_options(text)


def test_refuses_duplicate_options() -> None:
    with pytest.raises(BadOption, match="Duplicate option 'reply'"):
        parse_options("reply=tags&reply=json")


@pytest.mark.parametrize(("wrong", "near"), [("temprature", "temperature"), ("max_token", "max_tokens")])
def test_unknown_option_suggests_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(UnknownName, match=f"Did you mean '{near}'"):
        PlayerSettings().with_options({wrong: "1"})


def test_caller_options_are_ignored_but_suggested() -> None:
    assert PlayerSettings().with_options({"engine": "x"}, others=["engine"]) == PlayerSettings()
    with pytest.raises(UnknownName, match="Did you mean 'engine'"):
        PlayerSettings().with_options({"engin": "x"}, others=["engine"])


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("reply", "tag", "Did you mean 'tags'"),
        ("context", "everything", "context"),
        ("context", "last-0", "last"),
        ("prompt", "long", "Use full or compact"),
        ("temperature", "-0.1", "at least 0"),
        ("temperature", "nan", "at least 0"),
        ("temperature", "inf", "at least 0"),
        ("temperature", "warm", "must be a number"),
        ("max_tokens", "0", "at least 1"),
        ("max_tokens", "8.5", "whole number"),
        ("thinking", "True", "Use true or false"),
    ],
)
def test_option_values_are_validated(option: str, value: str, message: str) -> None:
    with pytest.raises(GymposiumError, match=message):
        PlayerSettings().with_options({option: value})


def test_settings_come_from_the_first_directory_with_a_file(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    for place in (first, second, third):
        place.mkdir()
    saved = PlayerSettings("full", "tags", 99, "truncated", 0.5, thinking=True)
    saved.save(second)
    PlayerSettings().save(third)
    assert PlayerSettings.beside(first, second, third) == saved
    assert PlayerSettings.beside(first) == PlayerSettings(reading="lenient")  # not trained here


def test_saving_does_not_follow_links(tmp_path: Path) -> None:
    other = tmp_path / "other"
    for link in (Path.hardlink_to, Path.symlink_to):
        other.write_text("other")
        file = tmp_path / "player.json"
        file.unlink(missing_ok=True)
        link(file, other)
        PlayerSettings().save(tmp_path)
        assert other.read_text() == "other"
        assert PlayerSettings.beside(tmp_path) == PlayerSettings()


def test_settings_without_context_still_load(tmp_path: Path) -> None:
    (tmp_path / "player.json").write_text('{"style": "full", "reply": "json", "max_tokens": 8}\n')
    assert PlayerSettings.beside(tmp_path) == PlayerSettings("full", "json", 8, "state", 0.0, thinking=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"style": "full", "top_p": 0.9}, "unknown keys: top_p"),
        ({"max_tokens": "8"}, "max_tokens='8': must be a whole number"),
        ({"max_tokens": True}, "max_tokens=True: must be a whole number"),
        ({"thinking": 1}, "thinking=1. Use true or false"),
        ({"temperature": None}, "temperature=None: must be a number"),
        ({"context": 3}, "context=3"),
        ({"reply": "prose"}, "'prose'"),
        (["full"], "must contain a JSON object"),
    ],
)
def test_invalid_file_error_names_the_file(tmp_path: Path, content: Any, message: str) -> None:
    (tmp_path / "player.json").write_text(json.dumps(content))
    with pytest.raises(BadOption, match=message) as caught:
        PlayerSettings.beside(tmp_path)
    assert str(tmp_path / "player.json") in str(caught.value)


def test_invalid_json_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "player.json").write_text("{")
    with pytest.raises(BadOption, match=r"player\.json is not valid JSON"):
        PlayerSettings.beside(tmp_path)
