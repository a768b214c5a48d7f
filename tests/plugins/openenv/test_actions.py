"""Replies as actions: free text for the only field, or JSON that fits the schema."""

from __future__ import annotations

from typing import Any

import pytest

from gymposium_openenv.actions import Actions, BadAction

TEXT = {"type": "string"}


def schema(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": fields, "required": [*fields]}


def test_the_only_text_field_takes_the_reply_as_it_is() -> None:
    actions = Actions({**schema(code=TEXT, metadata={"type": "object"}), "required": ["code"]})
    assert actions.text_field == "code"
    assert actions.parse_reply(' {"a": 1} ') == {"code": ' {"a": 1} '}
    assert actions.describe("full") == "Your reply is the code.\n"
    described = Actions(schema(code={"type": "string", "description": "Python to be run."}))
    assert described.describe("full") == "Your reply is the code: Python to be run.\n"


@pytest.mark.parametrize(
    "fields", [{"row": {"type": "integer"}}, {"tool": TEXT, "text": TEXT}, {"move": {"enum": ["a", "b"]}}, {}]
)
def test_other_actions_are_json(fields: dict[str, Any]) -> None:
    actions = Actions(schema(**fields))
    assert actions.text_field is None
    assert "one object of JSON" in actions.describe("compact")


def test_json_is_checked_by_the_schema() -> None:
    actions = Actions(schema(row={"type": "integer", "minimum": 1}))
    assert actions.parse_reply('{"row": 2}') == {"row": 2}
    for reply, why in (
        ("row 2", "is not JSON"),
        ('{"row": 2, "row": 3}', "is repeated"),
        ('{"row": NaN}', "is not a JSON number"),
        ("[" * 100_000, "nested too deeply"),
        ("2", "it is no object"),
        ('{"row": 0}', "is less than the minimum"),
        ('{"row": 2, "column": 1}', "'column' was unexpected"),
        ("{}", "'row' is a required property"),
        ("\ud800", "not text that can be sent"),
    ):
        with pytest.raises(BadAction, match=why):
            actions.parse_reply(reply)


def test_a_text_may_have_a_form() -> None:
    actions = Actions(schema(guess={"type": "string", "maxLength": 3}))
    with pytest.raises(BadAction, match="is too long"):
        actions.parse_reply("four")


@pytest.mark.parametrize(
    "wrong",
    [
        {"properties": {"a": {"$ref": "http://evil.example/schema"}}},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"type": "no such type"},
    ],
)
def test_a_schema_that_cannot_be_checked_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the schema of actions"):
        Actions(wrong)


def test_a_field_may_be_anything_that_json_schema_allows() -> None:
    anything = Actions(schema(code=True))
    assert anything.parse_reply('{"code": [1]}') == {"code": [1]}
    referring = Actions({**schema(code={"$ref": "#/$defs/n"}), "$defs": {"n": {"type": ["integer", "null"]}}})
    assert '"$defs": {"n": {"type": ["integer", "null"]}}' in referring.describe("full")
    assert referring.parse_reply('{"code": null}') == {"code": None}
