"""Replies as actions: free text for a single field, or JSON that fits the schema."""

from __future__ import annotations

from typing import Any

import pytest

from gymposium_openenv.actions import Actions, BadAction

TEXT = {"type": "string"}


def make_schema(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": fields, "required": [*fields]}


def test_single_text_field_takes_the_reply_verbatim() -> None:
    actions = Actions({**make_schema(code=TEXT, metadata={"type": "object"}), "required": ["code"]})
    assert actions.text_field == "code"
    assert actions.parse_reply(' {"a": 1} ') == {"code": ' {"a": 1} '}
    assert actions.describe("full") == "Your reply is the code.\n"
    described = Actions(make_schema(code={"type": "string", "description": "Python to be run."}))
    assert described.describe("full") == "Your reply is the code: Python to be run.\n"


@pytest.mark.parametrize(
    "fields", [{"row": {"type": "integer"}}, {"tool": TEXT, "text": TEXT}, {"move": {"enum": ["a", "b"]}}, {}]
)
def test_other_actions_are_json(fields: dict[str, Any]) -> None:
    actions = Actions(make_schema(**fields))
    assert actions.text_field is None
    assert "one object of JSON" in actions.describe("compact")


def test_json_is_checked_by_the_schema() -> None:
    actions = Actions(make_schema(row={"type": "integer", "minimum": 1}))
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


def test_text_constraints_are_checked() -> None:
    actions = Actions(make_schema(guess={"type": "string", "maxLength": 3}))
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
def test_invalid_schemas_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the schema of actions"):
        Actions(wrong)


def test_fields_may_use_any_json_schema() -> None:
    anything = Actions(make_schema(code=True))
    assert anything.parse_reply('{"code": [1]}') == {"code": [1]}
    referring = Actions({**make_schema(code={"$ref": "#/$defs/n"}), "$defs": {"n": {"type": ["integer", "null"]}}})
    assert '"$defs": {"n": {"type": ["integer", "null"]}}' in referring.describe("full")
    assert referring.parse_reply('{"code": null}') == {"code": None}
