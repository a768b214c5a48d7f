"""Dialects: written calls are read back, and no other text is."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import BadOption
from gymposium.replies.reading import bind_reader, get_reader, read_reply
from gymposium.tasks.tools import Call, Tool, format_calls
from gymposium.tasks.tools.dialects import DIALECTS, Dialect

TOOL = Tool(
    "find",
    "Find it.",
    {"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}, "list": {}}},
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<>\r"), min_size=1).map(str.strip)
CALLS = st.builds(
    lambda text, count, words: Call("find", {"text": text, "count": count, "list": words}),
    TEXTS, st.integers(), st.lists(TEXTS),
)  # fmt: skip


@pytest.mark.parametrize("name", DIALECTS)
@given(call=CALLS)
def test_written_calls_are_read_back(name: str, call: Call) -> None:
    how = bind_reader(get_reader(f"tools-{name}"), (_typed(),), "a game")
    reply = how.answer(format_calls([call]))
    for text in (reply, f"  {reply}\n", f"<think>\nIt may be </tool_call>.\n</think>\n\n{reply}"):
        reading = read_reply(text, None, how, None, calls=True)
        assert (reading.kind, reading.move) == ("move", format_calls([call]))


def _typed() -> Tool:
    return Tool("find", "Find it.", {**TOOL.parameters, "properties": {**TOOL.parameters["properties"],
                "list": {"type": "array", "items": {"type": "string"}}}})  # fmt: skip


@pytest.mark.parametrize("name", ["hermes", "keys", "functions"])
def test_several_calls_are_one_move(name: str) -> None:
    how = bind_reader(get_reader(f"tools-{name}"), (TOOL,), "a game")
    calls = [Call("find", {"text": "a"}), Call("find", {"count": 2})]
    assert how.extract_move(how.answer(format_calls(calls))) == format_calls(calls)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda one: one.name)
def test_other_text_is_unparsable(dialect: Dialect) -> None:
    how = bind_reader(get_reader(f"tools-{dialect.name}"), (TOOL,), "a game")
    call = how.answer(format_calls([Call("find", {"count": 1})]))
    spoilt = (
        "", "I will call find.", f"First: {call}", f"{call} Done.", call[:-1], f"<think>{call}", f"{call}</tool_call>",
        call.replace("count", 'count": 1, "count') if dialect.name in ("hermes", "llama") else f"{call}<tool_call>",
        call.replace("1", "NaN"), call.replace("1", "[" * 9_999),
    )  # fmt: skip
    for text in spoilt:
        assert read_reply(text, None, how, None, calls=True).kind == "unparsable", text


def test_duplicate_argument_is_unparsable() -> None:
    twice = "<tool_call>find\n" + "<arg_key>count</arg_key>\n<arg_value>1</arg_value>\n" * 2 + "</tool_call>"
    assert bind_reader(get_reader("tools-keys"), (TOOL,), "a game").extract_move(twice) is None


def test_surrogate_in_an_argument_is_unparsable() -> None:
    how = bind_reader(get_reader("tools-hermes"), (TOOL,), "a game")
    text = '<tool_call>{"name": "find", "arguments": {"text": "\\ud800"}}</tool_call>'
    assert read_reply(text, None, how, None, calls=True).kind == "unparsable"


def test_game_without_tools_refuses_call_readers() -> None:
    with pytest.raises(BadOption, match=r"reply=tools-llama: nim has no tools\. Use 'move'"):
        bind_reader(get_reader("tools-llama"), (), "nim")


def test_other_readers_read_a_call_as_one_json_line() -> None:
    line = format_calls([Call("find", {"text": "a"})])
    assert read_reply(line.replace(" ", ""), None, get_reader("move"), None, calls=True).move == line
    assert read_reply(f"<think>x</think><move>{line}</move>", None, get_reader("tags"), None, calls=True).move == line
    assert read_reply("find a", None, get_reader("move"), None, calls=True).kind == "unparsable"


MIXED = Tool(
    "find",
    "Find it.",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "nullable": {"type": ["string", "null"]},
            "any": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]},
            "one_of": {"enum": ["a", "5", 5, None]},
            "list": {"type": "array"},
            "undescribed": {},
        },
    },
)
TAGS = ["</tool_call>", "</parameter>", "</function>", "</arg_value>", "<arg_key>", "<parameter=a>", "<think>", "\n"]
ANY_TEXT = st.lists(st.one_of(st.sampled_from([*TAGS, "null", "5", "true", '"x"']), st.text(max_size=3)), max_size=3)
VALUES = st.one_of(
    ANY_TEXT.map("".join), st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)
)


@pytest.mark.parametrize("name", DIALECTS)
@given(st.dictionaries(st.sampled_from([*MIXED.parameters["properties"], "other"]), VALUES))
def test_any_call_is_read_back_or_refused(name: str, arguments: dict[str, object]) -> None:
    how = bind_reader(get_reader(f"tools-{name}"), (MIXED,), "a game")
    move = format_calls([Call("find", arguments)])
    with suppress(BadOption):
        assert how.extract_move(how.answer(move)) == move
        return
    assert name in ("keys", "functions")


@pytest.mark.parametrize(
    ("argument", "value"),
    [("nullable", None), ("any", 5), ("any", 1.5), ("any", False), ("one_of", 5), ("one_of", None), ("list", ["a"])]
    + [("text", text) for text in ("null", "5", " x\n", "", "<b>\r\n")]
    + [("nullable", "5"), ("any", "null"), ("any", '"5"'), ("undescribed", "5")],
)
@pytest.mark.parametrize("name", ["keys", "functions"])
def test_argument_of_several_types_keeps_its_type(name: str, argument: str, value: object) -> None:
    how = bind_reader(get_reader(f"tools-{name}"), (MIXED,), "a game")
    move = format_calls([Call("find", {argument: value})])
    assert how.extract_move(how.answer(move)) == move


@pytest.mark.parametrize(
    ("argument", "value", "says"),
    [
        ("text", "</tool_call>", "its own tags"),
        ("text", "a</parameter></arg_value>", "its own tags"),
        ("nullable", "null", "change an argument's type"),
        ("any", "5", "change an argument's type"),
        ("undescribed", 5, "change an argument's type"),
    ],
)
@pytest.mark.parametrize("name", ["keys", "functions"])
def test_ambiguous_call_is_not_written(name: str, argument: str, value: object, says: str) -> None:
    how = bind_reader(get_reader(f"tools-{name}"), (MIXED,), "a game")
    with pytest.raises(BadOption, match=says):
        how.answer(format_calls([Call("find", {argument: value})]))


MANY = 60_000
HOSTILE = {
    "spaces in a function": f"<tool_call><function=a>{' ' * MANY}x</tool_call>",
    "spaces before a function's end": f"<tool_call><function=a>{' ' * MANY}x{' ' * MANY}</function></tool_call>",
    "functions without an end": "<tool_call>" + "<function=a> " * MANY + "</tool_call>",
    "parameters without an end": f"<tool_call><function=a>{'<parameter=a> ' * MANY}</function></tool_call>",
    "line feeds in a parameter": f"<tool_call><function=a><parameter=a>{chr(10) * MANY}</function></tool_call>",
    "values without a key": f"<tool_call>f<arg_key>{'</arg_key><arg_value>' * MANY}</tool_call>",
    "keys without a value": f"<tool_call>f{'<arg_key>a</arg_key> ' * MANY}</tool_call>",
    "spaces between a key and its value": f"<tool_call>f<arg_key>a</arg_key>{' ' * MANY}x</tool_call>",
    "pairs": "<tool_call>f"
    + "".join(f"<arg_key>{n}</arg_key><arg_value>1</arg_value>" for n in range(MANY))
    + "</tool_call>",
    "empty calls": "<tool_call></tool_call>" * MANY,
    "calls": "<tool_call>f</tool_call> " * MANY,
    "calls of functions": "<tool_call><function=f></function></tool_call>\n" * MANY,
    "calls without an end": "<tool_call>" * MANY,
    "spaces": f"<tool_call>{' ' * MANY}</tool_call>{' ' * MANY}x",
    "brackets": "[" * MANY,
    "braces": '{"name": ' * MANY,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("name", DIALECTS)
def test_hostile_reply_is_read_in_linear_time(name: str, text: str) -> None:
    """Reading some of these took hours when patterns looked for the end of each part."""
    with suppress(ValueError):
        DIALECTS[name].read(text, {})


def test_recursive_schema_costs_little() -> None:
    loop = {"anyOf": [{"$ref": "#/$defs/r"}] * 40, "type": "integer"}
    tool = Tool("f", "", {"type": "object", "properties": {"a": {"$ref": "#/$defs/r"}}, "$defs": {"r": loop}})
    written = "<tool_call>f<arg_key>a</arg_key><arg_value>5</arg_value></tool_call>"
    assert DIALECTS["keys"].read(written, {"f": tool}) == (Call("f", {"a": 5}),)


@pytest.mark.parametrize("keyword", ["enum", "anyOf", "oneOf", "allOf", "$ref", "type", "const"])
@pytest.mark.parametrize("value", [None, 5, "x", [], {}, ["a"], True, [[]], [{}]], ids=str)
def test_schema_keyword_may_have_any_value(keyword: str, value: object) -> None:
    tool = Tool("f", "", {"type": "object", "properties": {"a": {keyword: value}}})
    written = "<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value></tool_call>"
    with suppress(ValueError):
        assert DIALECTS["keys"].read(written, {"f": tool}) == (Call("f", {"a": "x"}),)
