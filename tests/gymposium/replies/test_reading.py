"""Replies are read strictly, and no text crashes a reader."""

from __future__ import annotations

import re
import tracemalloc
from typing import get_args

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import UnknownName
from gymposium.replies.reading import KINDS, MAX_REPLY, READERS, Reading, Wanted, get_reader, read_action, read_reply

SQUARES = re.compile(r"[a-c][1-3]")
LEGAL = ["a3", "b2", "c1"]
MOVE, TAGS, JSON = READERS["move"], READERS["tags"], READERS["json"]

hostile = st.one_of(
    st.text(),
    st.text(st.characters(categories=["Cs", "Cc", "Zs", "Zl", "Zp", "Cf"])),
    st.lists(
        st.sampled_from(
            [
                "<think>",
                "</think>",
                "<move>",
                "</move>",
                "b2",
                "a9",
                " ",
                "\n",
                "\x00",
                '{"move": ',
                '"b2"',
                "}",
                "[",
                "<",
            ]
        )
    ).map("".join),
)


@given(hostile, st.sampled_from(sorted(READERS)), st.sampled_from([LEGAL, [], None]), st.booleans())
def test_any_text_has_exactly_one_reading(text: str, name: str, legal: list[str] | None, cut_off: bool) -> None:
    reading = read_reply(text, legal, READERS[name], SQUARES, cut_off=cut_off)
    assert reading.kind in KINDS
    if reading.kind == "move" and legal is not None:
        assert reading.move in legal
    if reading.kind == "illegal":
        assert reading.move not in (legal or [])
        assert SQUARES.fullmatch(reading.move or "")
    assert (reading.kind == "cut off") == cut_off
    assert isinstance(reading.reason(legal), str)


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"move":' * 100_000,
        "<think>" * 200_000,
        "<think>" + "x" * 999_999,
        " " * 500_000,
        "9" * 100_000,
    ],
    ids=["brackets", "objects", "thinks", "long thought", "blanks", "digits"],
)
def test_huge_replies_are_unparsable(name: str, text: str) -> None:
    assert read_reply(text, LEGAL, READERS[name], SQUARES).kind == "unparsable"


@pytest.mark.parametrize("name", sorted(READERS))
def test_overlong_reply_is_unparsable(name: str) -> None:
    answer = READERS[name].answer("b2")
    assert read_reply(answer.ljust(MAX_REPLY), LEGAL, READERS[name], SQUARES) == Reading("move", "b2")
    assert read_reply(answer.ljust(MAX_REPLY + 1), LEGAL, READERS[name], SQUARES) == Reading("unparsable")
    assert read_reply(answer.ljust(MAX_REPLY + 1), None, READERS[name], None) == Reading("unparsable")


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize("length", [MAX_REPLY - 100, 10_000_000])
def test_long_replies_are_read_in_little_memory(name: str, length: int) -> None:
    answer = f"<think>{'x' * length}</think><move>b2</move>" if name == "tags" else f"{' ' * length}b2"
    tracemalloc.start()
    read_reply(answer, LEGAL, READERS[name], SQUARES)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000


@pytest.mark.parametrize("name", sorted(READERS))
@given(move=st.sampled_from(LEGAL))
def test_canonical_answer_reads_back(name: str, move: str) -> None:
    assert read_reply(READERS[name].answer(move), LEGAL, READERS[name], SQUARES) == Reading("move", move)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("b2", "move"),
        (" b2\n", "move"),
        ("a1", "illegal"),
        ("d4", "unparsable"),
        ("B2", "unparsable"),
        ("b2.", "unparsable"),
        ("I play b2", "unparsable"),
        ("b2 b2", "unparsable"),
        ("<move>b2</move>", "unparsable"),
        ("", "unparsable"),
        ("  \n", "unparsable"),
    ],
)
def test_move_reader(text: str, kind: str) -> None:
    assert read_reply(text, LEGAL, MOVE, SQUARES).kind == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<move>b2</move>", "move"),
        ("<think></think><move> b2 </move>", "move"),
        ("<think>a3?\nNo.</think>\n<move>b2</move>\n", "move"),
        ("<think>not <move>a3</move> but</think><move>b2</move>", "move"),
        ("<think>a stray </move> here</think><move>b2</move>", "move"),
        ("<think>a <think> inside</think><move>b2</move>", "move"),
        ("<think>a <think>b</think> c</think><move>b2</move>", "unparsable"),
        ("<think>one</think><think>two</think><move>b2</move>", "unparsable"),
        ("<think>no end<move>b2</move>", "unparsable"),
        ("<move>b2</move><move>a3</move>", "unparsable"),
        ("<move>b2</move> is best", "unparsable"),
        ("best is <move>b2</move>", "unparsable"),
        ("<move><move>b2</move></move>", "unparsable"),
        ("<MOVE>b2</MOVE>", "unparsable"),
        ("<move>b2", "unparsable"),
        ("<move></move>", "unparsable"),
        ("<think>b2</think>", "unparsable"),
        ("<move>a1</move>", "illegal"),
        ("b2", "unparsable"),
    ],
)
def test_tags_reader(text: str, kind: str) -> None:
    reading = read_reply(text, LEGAL, TAGS, SQUARES)
    assert reading.kind == kind
    assert kind != "move" or reading.move == "b2"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"move": "b2"}', "move"),
        (' {"move":" b2 "}\n', "move"),
        ('{"move": "a1"}', "illegal"),
        ('{"move": "a1", "why": "centre"}', "unparsable"),
        ('{"move": "b2", "move": "a3"}', "unparsable"),
        ('{"move": "b2", "move": "b2"}', "unparsable"),
        ('{"move": "b2", "\\u006dove": "a3"}', "unparsable"),
        ('{"move": {"a": 1, "a": 1}}', "unparsable"),
        ('{"move": 2}', "unparsable"),
        ('{"move": ["b2"]}', "unparsable"),
        ('{"move": ""}', "unparsable"),
        ('["b2"]', "unparsable"),
        ('"b2"', "unparsable"),
        ('{"move": "b2"} done', "unparsable"),
        ('```json\n{"move": "b2"}\n```', "unparsable"),
        ("NaN", "unparsable"),
    ],
)
def test_json_reader(text: str, kind: str) -> None:
    assert read_reply(text, LEGAL, JSON, SQUARES).kind == kind


def test_cut_off_depends_only_on_the_finish_reason() -> None:
    assert read_reply("b2", LEGAL, MOVE, SQUARES, cut_off=True) == Reading("cut off")
    assert read_reply("<think>and then", LEGAL, TAGS, SQUARES).kind == "unparsable"


@pytest.mark.parametrize("text", [" what is it? ", "  1 < 2\n  <module>\n", "<move"])
def test_free_text_keeps_whitespace(text: str) -> None:
    for how in READERS.values():
        assert read_reply(how.answer(text), None, how, None) == Reading("move", text)


@pytest.mark.parametrize("text", ["", " ", "\n\t \n"])
def test_empty_free_text_is_unparsable(text: str) -> None:
    for how in READERS.values():
        assert read_reply(how.answer(text), None, how, None) == Reading("unparsable")


def test_unencodable_free_text_is_unparsable() -> None:
    assert read_reply("half a pair: \ud800", None, MOVE, None) == Reading("unparsable")
    assert read_reply('{"move": "\\ud83d"}', None, JSON, None) == Reading("unparsable")
    assert read_reply('{"move": "\\ud83d\\ude00"}', None, JSON, None) == Reading("move", "😀")


def test_free_text_instructions_do_not_mention_legal_moves() -> None:
    for how in READERS.values():
        assert "legal" not in how.instructions("full", wanted="your text")
    assert (MOVE.instructions("compact"), MOVE.instructions("compact", wanted="your text")) == ("move:", "answer:")


def test_without_a_pattern_other_text_is_illegal() -> None:
    assert read_reply("hello", LEGAL, MOVE, None) == Reading("illegal", "hello")


def test_actions_are_indices_of_the_action_space() -> None:
    assert read_action(4, [0, 4, 8], LEGAL) == Reading("move", "b2")
    assert read_action(1, [0, 4, 8], LEGAL).kind == "illegal"
    assert read_action(0, [], None).kind == "illegal"


def test_reasons_list_the_legal_moves() -> None:
    assert Reading("illegal", "a1").reason(LEGAL) == "'a1' is not legal now. Legal moves: a3, b2, c1."
    assert Reading("unparsable").reason(LEGAL) == "The reply could not be read. Legal moves: a3, b2, c1."
    assert Reading("cut off").reason(None) == "The reply was cut off before it ended."


def test_reason_is_always_printable() -> None:
    assert Reading("illegal", "\ud800\n").reason(LEGAL).isprintable()


def test_readers_are_found_by_name() -> None:
    assert [get_reader(name).name for name in ("move", "tags", "json")] == ["move", "tags", "json"]
    for how in READERS.values():
        for style in ("full", "compact"):
            assert all(how.instructions(style, wanted=wanted).isascii() for wanted in get_args(Wanted))
    with pytest.raises(UnknownName, match="Did you mean 'json'"):
        get_reader("jsn")
