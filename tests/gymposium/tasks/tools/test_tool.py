"""Tools made of functions validate their arguments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from gymposium.tasks.tools import Tool
from gymposium.tasks.tools.random_calls import make_random_call
from gymposium.util.streams import stream


def search(
    words: Annotated[list[str], Field(description="Words that the mail holds.", max_length=3)],
    order: Literal["new", "old"] = "new",
    limit: Annotated[int, Field(ge=1, le=10)] = 10,
    sender: str | None = None,
) -> str:
    """Search the mailbox."""
    return f"{words} {order} {limit} {sender}"


SEARCH = Tool.from_function(search)


def test_tool_is_described_by_its_function() -> None:
    assert (SEARCH.name, SEARCH.description) == ("search", "Search the mailbox.")
    described = SEARCH.parameters["properties"]
    assert [*described] == ["words", "order", "limit", "sender"]
    assert described["words"]["description"] == "Words that the mail holds."
    assert described["order"]["enum"] == ["new", "old"]
    assert SEARCH.parameters["required"] == ["words"]
    assert SEARCH.as_function["function"]["name"] == "search"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"words": ["a"]}, None),
        ({"words": ["a"], "sender": None, "limit": 3, "order": "old"}, None),
        ({}, "'words' is a required property"),
        ({"words": "a"}, "words: 'a' is not of type 'array'"),
        ({"words": ["a", 1]}, "words[1]: 1 is not of type 'string'"),
        ({"words": ["a"], "limit": 11}, "limit: 11 is greater than the maximum of 10"),
        ({"words": ["a"], "word": 1}, "Additional properties are not allowed ('word' was unexpected)"),
    ],
)
def test_arguments_are_validated(arguments: dict[str, Any], reason: str | None) -> None:
    assert SEARCH.find_objection(arguments) == reason


def test_omitted_arguments_have_their_defaults() -> None:
    whole = {"words": ["a"], "order": "old", "limit": 10, "sender": None}
    assert SEARCH.fill_defaults({"words": ["a"], "order": "old"}) == whole


def test_reason_is_short_for_any_argument() -> None:
    assert len(SEARCH.find_objection({"words": "x" * 1_000_000}) or "") <= 200


def test_random_calls_fit_the_schema() -> None:
    rng, seen = stream(1, "calls"), set()
    for _ in range(200):
        call = make_random_call([SEARCH], "Who sent the invoice of 3 May?", rng)
        assert SEARCH.find_objection(call.arguments) is None
        seen |= {*call.arguments, *call.arguments["words"]}
    assert {"order", "limit", "sender", "invoice", "May"} <= seen


def test_undescribed_functions_are_refused() -> None:
    def silent(a: int) -> None: ...

    def untyped(a) -> None:  # type: ignore[no-untyped-def]
        """A tool."""

    def many(*a: int) -> None:
        """A tool."""

    for function, reason in ((silent, "no docstring"), (untyped, "has no type"), (many, "keyword arguments")):
        with pytest.raises(TypeError, match=reason):
            Tool.from_function(function)
    with pytest.raises(ValueError, match="letters, digits"):
        Tool("<|im_end|>", "", {"type": "object"})
    with pytest.raises(ValueError, match="of type 'object'"):
        Tool("f", "", {"type": "string"})


def test_schema_is_kept_as_written() -> None:
    schema = {"properties": {"a": {"type": "integer", "default": 3}}}
    tool = Tool("f", "", schema)
    assert tool.parameters == {"type": "object", **schema}
    assert (tool.find_objection({"a": 1, "b": 2}), tool.fill_defaults({"b": 2})) == (None, {"b": 2})
