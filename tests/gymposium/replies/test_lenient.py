"""Lenient readers find marked moves in other formats, report repairs, and never search prose."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import BadOption, BadRecord
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, Reply
from gymposium.records import Record, find_first_difference
from gymposium.replies.lenient import find_marks
from gymposium.replies.reading import (
    GENERAL,
    LENIENT,
    MAX_REPLY,
    READERS,
    Reading,
    get_lenient_reader,
    get_reader,
    read_reply,
)
from gymposium.replies.thoughts import remove_thoughts
from gymposium.tasks.tools.reader import list_tools_readers
from gymposium_arena.results.tally import BoardTally

SQUARES = re.compile(r"[a-c][1-3]")
LEGAL = ["a3", "b2", "c1"]
PIECES = [
    *("<thinking>", "[/THINK]", "<|channel|>analysis", "<think ", "<Move>", "<!--", "{", "'move':", '"a": {'),
    *("<think>", "</think>", "<move>", "</move>", "<move>b2</move>", "<move>a3</move>", "b2", "a9", " ", "\n", "<"),
    *("```", "```json\n", '{"move": "b2"}', '{"move": ', '"b2"', "}", "I think ", " or "),
]
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
names = st.sampled_from(sorted(READERS))
wanted = st.sampled_from([LEGAL, [], None])


def read_by(name: str, text: str, legal: list[str] | None = LEGAL) -> Reading:
    return read_reply(text, legal, GENERAL[name], SQUARES)


@given(texts, names, wanted)
def test_lenient_agrees_with_strict_on_valid_replies(text: str, name: str, legal: list[str] | None) -> None:
    strict = read_by(name, text, legal)
    if strict.kind != "unparsable" and (name != "move" or legal is not None):
        assert read_by(f"{name}-lenient", text, legal) == strict


@given(texts, names, wanted)
def test_canonical_answer_reads_back_leniently(text: str, name: str, legal: list[str] | None) -> None:
    reading = read_by(f"{name}-lenient", text, legal)
    if reading.move is not None:
        again = read_by(f"{name}-lenient", READERS[name].answer(reading.move), legal)
        assert again == replace(reading, repaired=())


unmarked = st.lists(
    st.sampled_from(
        ["I", "play", "b2", "a3", "c1?", "since", "it\nwins", ".", "{", "the move,", "`b2`", "<", "</", "your moves"]
    )
).map(" ".join)
"""Sentences without a mark of a move."""
wraps = st.lists(
    st.one_of(
        st.builds("<think>{}<move>a3</move></think>{{}}".format, unmarked),
        st.builds("{}<move>c1</move></think>\n\n{{}}".format, unmarked),
        st.builds("{}\n{{}}\n{}".format, unmarked, unmarked),
        st.just("```\n{}\n```"),
        st.just("```xml\n{}\n```\n"),
        st.just("**{}**"),
    ),
    max_size=3,
)
forms = st.sampled_from(["<move>{}</move>", "<move> {}\n</move>", '```json\n{{"move": "{}"}}\n```'])


def wrapped(text: str, around: list[str]) -> str:
    for wrap in sorted(around, key="think>".__contains__):
        text = wrap.replace("{}", text)
    return text


@given(st.sampled_from(LEGAL), forms, wraps, names)
def test_surrounding_text_does_not_change_a_marked_move(move: str, form: str, around: list[str], name: str) -> None:
    reading = read_by(f"{name}-lenient", wrapped(form.format(move), around))
    assert (reading.kind, reading.move) == ("move", move)


@given(st.permutations(LEGAL), forms, forms, unmarked, wraps, names)
def test_two_different_final_moves_are_unparsable(
    moves: list[str], one: str, other: str, between: str, around: list[str], name: str
) -> None:
    both = f"{one.format(moves[0])}\n{between}\n{other.format(moves[1])}"
    assert read_by(f"{name}-lenient", wrapped(both, around)).kind == "unparsable"


@given(texts)
def test_removing_thoughts_is_idempotent(text: str) -> None:
    once = remove_thoughts(text)
    assert remove_thoughts(once) == once
    assert "<think>" not in once
    assert "</think>" not in once


prose = st.lists(
    st.sampled_from(
        ["I", "play", "b2", "a3", "c1", ".", ":", "**b2**", "`b2`", "move", "Move: b2", '"b2"', "(b2)", "\n"]
    ),
    min_size=2,
).map(" ".join)


@given(prose, st.sampled_from(["tags-lenient", "json-lenient"]), st.sampled_from(["", "</think>", "<think>hm</think>"]))
def test_prose_is_unparsable(text: str, name: str, thoughts: str) -> None:
    assert read_by(name, thoughts + text).kind == "unparsable"


@given(st.sampled_from(LEGAL), prose, names)
def test_bare_move_reader_finds_no_move_in_prose(move: str, text: str, name: str) -> None:
    assert read_by(f"{name}-lenient", f"I play {move} {text}").kind == "unparsable"


@given(texts, names)
def test_repairs_are_reported_exactly_when_needed(text: str, name: str) -> None:
    reading = read_by(f"{name}-lenient", text)
    strict = read_by(name, text)
    assert bool(reading.repaired) == (reading.kind != strict.kind)


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("<move>b2</move>", ()),
        ("<think>a3?</think><move> b2 </move>", ()),
        ("I think the centre is best. <move>b2</move>", ("text",)),
        ("<move>b2</move> is best.", ("text",)),
        ("**<move>b2</move>**", ("text",)),
        ("<think>a3?</think>I play <move>b2</move>.", ("text",)),
        ("a3 or <move>a3</move>?</think>\n\n<move>b2</move>", ("thoughts",)),
        ("hm</think><think>hm</think>So: <move>b2</move>", ("thoughts", "text")),
        ("<think>one</think><think>two</think><move>b2</move>", ("thoughts",)),
        ("Maybe <move>a3</move>. I think in <think> tags. No.\n</think>\n\n<move>b2</move>", ("thoughts",)),
        (
            "<think>I must think inside <think></think>. <move>a3</move>?</think>So: <move>b2</move>",
            ("thoughts", "text"),
        ),
        (
            '<|channel|>analysis<|message|>hm<|end|><|channel|>final <|constrain|>json<|message|>{"move":"b2"}',
            ("thoughts", "json"),
        ),
        ("```\n<move>b2</move>\n```", ("fence",)),
        ("```xml\n<move>b2</move>\n```\nGood luck!", ("text", "fence")),
        ('```json\n{"move": "b2"}\n```', ("fence", "json")),
        (
            'thoughts</think>Here:\n```json\n{"why": "centre", "move": " b2"}\n```',
            ("thoughts", "text", "fence", "json"),
        ),
        ("<move>b2</move>\n<move>b2</move>", ("text",)),
        ("Answer in <move></move>: <move>b2</move>", ("text",)),
        ("<move>a3 <move>b2</move>", ("text",)),
        ("<move>b2</move> and no <move>", ("text",)),
        (r"\boxed{<move>b2</move>}", ("text",)),
        ("<|begin_of_box|><move>b2</move><|end_of_box|>", ("text",)),
        ("<move>b2</move> Explanation of my move: it stops the opponents' moves.", ("text",)),
        ("<move>b2</move>\n\n**Why this move:** the best move (a move to the centre) wins.", ("text",)),
        ('<move>{"move": "b2"}</move>', ("json",)),
        ('{"move": "<move>b2</move>"}', ("json", "tags")),
        ('<move>```json\n{"why": "", "move": "b2"}\n```</move>', ("fence", "json")),
        ('<move>{"move": "b2"}</move> or <move>b2</move>', ("text",)),
        ("<think>I reason in <think> tags.\n</think>\n\nSo: <move>b2</move>", ("text",)),
        ("<thinking>I use <thinking>.\n</thinking>\n\nSo: <move>b2</move>", ("thoughts", "text")),
        ("<think>As in:\n<think>\nhm\n</think>\n<move>a3</move>\n</think>\nSo: <move>b2</move>", ("thoughts", "text")),
        ("I need no <reasoning> or <plan>.\n</think>\n\n<move>b2</move>", ("thoughts",)),
        ("I answer inside <move></move>.\n\nObservation: it is free.\n\n<move>b2</move>", ("text",)),
        ('The form is {"move": "..."}.\nTool: none\n<move>b2</move>', ("text",)),
    ],
)
def test_marked_moves_are_read(text: str, repaired: tuple[str, ...]) -> None:
    assert read_by("tags-lenient", text) == Reading("move", "b2", repaired=repaired)


@pytest.mark.parametrize(
    "text",
    [
        "<move>a3</move> or <move>b2</move>",
        "<move>a3</move><move>b2</move>",
        "I first thought of <move>a3</move>.\n\nMy answer: <move>b2</move>",
        '<move>a3</move>\n```json\n{"move": "b2"}\n```',
        '```json\n{"move": "a3"}\n```\n```json\n{"move": "b2"}\n```',
        "I play b2",
        "b2",
        "<think>hm</think>b2",
        "```\nb2\n```",
        '```json\n{"move": "b2", "move": "a3"}\n```',
        '```json\n["b2"]\n```',
        "<think>no end <move>b2</move>",
        "<move>b2</move><think>was that <move>a3</move>?</think>",
        "<move>b2</move><think>was that <move>a3</move>?",
        "<think>hm</think><move>b2</move>. I thought within <think></think>.",
        "<think>hm</think><move>b2</move>. I rejected <think>this</think>: <move>a3</move>",
        "<move>b2</move>. I have no <think></think> and rejected <move>a3</move>.",
        "Maybe <move>a3</move>. I must think in <think> tags. It loses.\n</think>\n\nI play b2.",
        "Maybe <move>a3</move>. I must think in <think> tags. It loses.",
        "<think>I am to think inside <think></think>. Maybe <move>a3</move>? It loses",
        "<think>I close it with </think>. Maybe <move>a3</move>? No, <think>b2</think>: b2",
        "<think>I am to think inside <think></think>\nMaybe <move>a3</move>? It loses",
        "<think>I am to think like <think>this</think> and <move>a3</move>? It loses",
        '<move>{"move": "b2"}</move> or <move>a3</move>',
        "analysisMaybe <move>a3</move>? It loses.",
        "<think><move>b2</move></think>",
        "<move> </move>",
        "<mo<think></think>ve>b2</move>",
    ],
)
def test_different_final_moves_and_prose_are_unparsable(text: str) -> None:
    assert read_by("tags-lenient", text) == Reading("unparsable")


@pytest.mark.parametrize(
    ("name", "text", "repaired"),
    [
        ("move", "hm</think>\nb2", ("thoughts",)),
        ("move", "```\nb2\n```", ("fence",)),
        ("move", "I play <move>b2</move>", ("text", "tags")),
        ("json", '<think>hm</think>{"move": "b2"}', ("thoughts",)),
        ("json", 'Sure!\n```json\n{"move": "b2"}\n```', ("text", "fence")),
        ("json", "<move>b2</move>", ("tags",)),
    ],
)
def test_other_formats_are_read_leniently_too(name: str, text: str, repaired: tuple[str, ...]) -> None:
    assert read_by(f"{name}-lenient", text) == Reading("move", "b2", repaired=repaired)


def test_illegal_move_is_found_too() -> None:
    assert read_by("tags-lenient", "I play <move>a1</move>") == Reading("illegal", "a1", repaired=("text",))


THOUGHTS = {
    "think": ("<think>", "</think>"),
    "no opening": ("", "</think>"),
    "capitals": ("<THINK>", "</THINK>"),
    "attributes": ('<think kind="deep">', "</think>"),
    "escaped": ("&lt;think&gt;", "&lt;/think&gt;"),
    "Claude": ("<thinking>", "</thinking>"),
    "bars": ("<|think|>", "<|/think|>"),
    "thought": ("<thought>", "</thought>"),
    "reasoning": ("<reasoning>", "</reasoning>"),
    "Reflection": ("<reflection>", "</reflection>"),
    "Hermes": ("<scratch_pad>", "</scratch_pad>"),
    "scratchpad": ("<scratchpad>", "</scratchpad>"),
    "nested": ("<thinking>a<reflection>b</reflection>", "</thinking>"),
    **{
        name: (f"<{name}>", f"</{name}>")
        for name in (
            *("thought_process", "thinking_process", "analysis", "rationale", "antThinking", "internal_monologue"),
            *("reason", "seed:cot", "plan", "planning", "draft", "critique", "brainstorm", "deliberation"),
            *("think_fast", "think_faster", "ifm|think", "ifm|think_fast", "reasoning_steps", "thought-1"),
        )
    },
    "line break": ("<think\n>", "</think\n>"),
    "mismatched": ("<think>", "</thinking>"),
    "mismatched bars": ("<|think|>", "</think>"),
    "begin_of_thinking": ("<|begin_of_thinking|>", "<|end_of_thinking|>"),
    "REASONING": ("[REASONING]", "[/REASONING]"),
    "[thinking]": ("[thinking]", "[/thinking]"),
    "fence": ("```thinking\n", "\n```"),
    "fence around fences": ("```thinking\n```json\n{}\n```\n", "\n```"),
    "Granite": ("Here is my thought process: ", "Here is my response:"),
    "Apriel": ("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]"),
    "Magistral": ("[THINK]", "[/THINK]"),
    "Seed": ("<seed:think>", "</seed:think>"),
    "MiniMax": ("<mm:think>", "</mm:think>"),
    "LongCat": ("<longcat_think>", "</longcat_think>"),
    "Kimi": ("◁think▷", "◁/think▷"),
    "Command": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "Sky-T1": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "gpt-oss": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    "gpt-oss for JSON": (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
    ),
    "gpt-oss without its tokens": ("analysis", "assistantfinal"),
    "Gemma": ("<|channel>thought\n", "<channel|>"),
    "MedGemma": ("<unused94>thought\n", "<unused95>"),
    "escaped slash": ("<think>", r"<\/think>"),
    "K2 with the slash behind": ("<ifm|think>", "<ifm|/think>"),
    "K2 mismatched": ("<ifm|think_fast>", "</ifm|think>"),
    "Ollama": ("Thinking...\n", "\n...done thinking.\n"),
    "openPangu": ("[unused16]", "[unused17]"),
    "s1": ("<|im_start|>think\n", "\n<|im_start|>answer\n"),
    "HyperCLOVA X": ("<|im_start|>assistant/think\n", "<|im_end|>\n<|im_start|>assistant\n"),
    "HyperCLOVA X, role by the template": ("/think\n", "<|im_end|>\n<|im_start|>assistant\n"),
    "Solar Open": ("<|think|>", "<|end|><|begin|>assistant<|content|>"),
    "Solar Open 2": ("<|think:start|>", "<|think:end|>"),
    "start and end behind": ("<|THINK_START|>", "<|THINK_END|>"),
    "DeepSeek's bars": ("<｜begin▁of▁thinking｜>", "<｜end▁of▁thinking｜>"),
    "Kimi K3": ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>"),
    "Muse": ("<|start|>assistant to=self<|message|>", "<|eom|><|start|>assistant to=user<|message|>"),
    "Inkling": ("<|content_thinking|>", "<|end_message|><|message_model|><|content_text|>"),
    "Open WebUI": (
        '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n> ',
        "\n</details>",
    ),
    "folded": ("<details>\n<summary>My reasoning</summary>\n<details>more</details>\n", "</details>"),
}
"""What different models write around their thoughts."""


@pytest.mark.parametrize("family", THOUGHTS)
def test_moves_in_thoughts_are_ignored(family: str) -> None:
    opening, closing = THOUGHTS[family]
    for withdrawn in ("<move>a3</move>", '{"move": "a3"}', '```json\n{"move": "a3"}\n```'):
        thoughts = f"{opening}What about {withdrawn}? It is taken."
        unfinished = [f"{thoughts} Or <move>c1"] if opening.startswith(("<", "[", "&", "◁", "`", "/")) else []
        for name in READERS:
            for reply in (f"{thoughts}{closing}\nI play b2", f"{thoughts}{closing}", *unfinished):
                assert read_by(f"{name}-lenient", reply) == Reading("unparsable")
            reading = read_by(f"{name}-lenient", f"{thoughts}{closing}\n{READERS[name].answer('b2')}")
            assert (reading.kind, reading.move) == ("move", "b2")


@pytest.mark.parametrize("family", THOUGHTS)
def test_move_in_an_unclosed_thought_is_ignored(family: str) -> None:
    opening, _ = THOUGHTS[family]
    begins_reply = opening.startswith("/")
    if not opening or HEADING.fullmatch(opening) or opening in ("analysis", "Thinking...\n"):
        return
    for name in READERS:
        mark = READERS[name].answer("b2")
        for reply in (f"{opening}hm {mark}", f"{opening}\nhm\n\n{mark}\n", f"Or {mark}?\n{opening}It is taken."):
            if not begins_reply or reply.startswith(opening):
                assert read_by(f"{name}-lenient", reply) == Reading("unparsable"), reply


HEADING = re.compile(r"\[(?!THINK)[A-Za-z]+\]|Here (is|are) my .*", re.DOTALL)
"""Names in brackets and sentences that are headings, unless they are closed."""


@pytest.mark.parametrize(
    "text",
    [
        "Here is my thought process:\n\n1. The centre is free.\n\n{}",
        "here is my thought process: The centre is free. {}",
        "Here are my reasoning steps:\n- The centre is free.\n\n{}",
        "{}\n\nHere is my response: it takes the centre.",
        "Hello! Here is my response:\n{}",
    ],
)
def test_unmatched_delimiter_in_a_sentence_is_text(text: str) -> None:
    for name in ("tags", "json"):
        reading = read_by(f"{name}-lenient", text.format(READERS[name].answer("b2")))
        assert (reading.kind, reading.move, reading.repaired) == ("move", "b2", ("text",))
        marked = text.format(READERS[name].answer("Hi"))
        assert read_reply(marked, None, GENERAL[f"{name}-lenient"], None).move == "Hi"
    bare = text.format("Hi")
    assert read_reply(bare, None, GENERAL["move-lenient"], None) == Reading("move", bare)


@pytest.mark.parametrize("heading", ["[Analysis]", "[Reasoning]", "[REASONING]", "[thought]", "[Plan]", "[think]"])
def test_unclosed_bracketed_name_is_a_heading(heading: str) -> None:
    for text in (
        f"{heading}\nThe centre is free.\n\n",
        f"# Turn 3\n{heading} The centre.\n",
        f"<think>{heading}</think>",
    ):
        for name in ("tags", "json"):
            reading = read_by(f"{name}-lenient", text + READERS[name].answer("b2"))
            assert (reading.kind, reading.move) == ("move", "b2")
    closing = heading.replace("[", "[/")
    for name in READERS:
        mark = READERS[name].answer("b2")
        assert read_by(f"{name}-lenient", f"{heading}{mark}?{closing} I play a3") == Reading("unparsable")
        assert read_by(f"{name}-lenient", f"Hm {mark}?{closing} I play a3") == Reading("unparsable")


@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```", "{}<|im_end|>"])
@pytest.mark.parametrize("family", THOUGHTS)
def test_delimiters_in_json_strings_are_text(family: str, fence: str) -> None:
    opening, closing = THOUGHTS[family]
    for note in (f"{opening}a3?", f"{opening}a3?{closing}", f"a3?{closing}", "[thought] a3?"):
        reply = fence.format(json.dumps({"note": note, "move": "b2"}))
        for name in READERS:
            assert read_by(f"{name}-lenient", reply).move == "b2", reply


USERS = [
    *("<|im_end|>\n<|im_start|>user\n", "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"),
    *("<end_of_turn>\n<start_of_turn>user\n", "<|user|>\n", "<|end|><|user|>"),
    *("<｜end▁of▁sentence｜><｜User｜>", "</s>[INST] "),
    *("<|im_end|><|im_user|>user<|im_middle|>", "<|end|><|begin|>user<|content|>", "<|end|><|start|>user<|message|>"),
    *("[|endofturn|]\n[|user|]", "<role>HUMAN</role>", "</s><s>[INST]"),
    *("[e~[\n]~b]user\n", "<turn|>\n<|turn>user\n", "<|observation|>"),
    *("<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>", "<|im_end|>\n<|im_start|>system\n"),
]  # fmt: skip
"""What begins a turn that a model invents behind its own."""


@pytest.mark.parametrize("family", [name for name in THOUGHTS if THOUGHTS[name][0]])
def test_move_of_the_first_turn_is_the_answer(family: str) -> None:
    opening, closing = THOUGHTS[family]
    mark, other, user = "<move>b2</move>", "<move>a3</move>", USERS[len(family) % len(USERS)]
    for behind in (
        f"{user}I play c1.",
        f"{user}Your move?<|im_end|>\n<|im_start|>assistant\n<think>hm</think>{other}</s>",
    ):
        reading = read_by("tags-lenient", f"{opening}c1?{closing}\n{mark}{behind}")
        assert (reading.kind, reading.move) == ("move", "b2"), behind
        for before in (f"{opening}{mark}", f"{opening}{mark}{closing}", f"{opening}{mark}{closing}\nI play c1."):
            if before.endswith((closing, "c1.")) or not (
                HEADING.fullmatch(opening) or opening in ("analysis", "Thinking...\n")
            ):
                assert read_by("tags-lenient", before + behind) == Reading("unparsable"), (before, behind)


@pytest.mark.parametrize("user", USERS)
def test_text_after_a_user_turn_is_ignored(user: str) -> None:
    for name in READERS:
        first, second = READERS[name].answer("b2"), READERS[name].answer("a3")
        for behind in (
            f"{user}I play c1.",
            f"{user}Your move?<|im_end|>\n<|im_start|>assistant\n{second}<|im_end|>",
            f"{user}Your move?<|im_end|>\n<|im_start|>assistant\n<think>hm</think>{second}{user}And now?",
        ):
            reading = read_by(f"{name}-lenient", first + behind)
            assert (reading.kind, reading.move, reading.repaired) == ("move", "b2", ("text",)), behind


@pytest.mark.parametrize("user", USERS)
def test_quoted_turn_in_a_thought_ends_no_turn(user: str) -> None:
    for name in READERS:
        mark, other = READERS[name].answer("b2"), READERS[name].answer("a3")
        for opening in ("<think>", "[THINK]", "◁think▷"):
            closing = opening.replace("think", "/think").replace("THINK", "/THINK")
            thought = f"{opening}Maybe {other}. I was asked: {user}Your move?{closing}"
            assert read_by(f"{name}-lenient", thought + mark).move == "b2"
            assert read_by(f"{name}-lenient", thought.removeprefix(opening) + mark) == Reading("unparsable")


@pytest.mark.parametrize(
    "turn", ["<|im_end|>\n<|im_start|>assistant\n", "<|assistant|>", "<end_of_turn>\n<start_of_turn>model\n"]
)
def test_move_before_another_assistant_turn_is_ambiguous(turn: str) -> None:
    for name in READERS:
        mark, other = READERS[name].answer("b2"), READERS[name].answer("a3")
        assert read_by(f"{name}-lenient", f"I see.{turn}{mark}").move == ("b2" if name != "move" else None)
        assert read_by(f"{name}-lenient", f"{mark}{turn}").move == "b2"
        assert read_by(f"{name}-lenient", f"{other}{turn}{mark}") == Reading("unparsable")
        assert read_by(f"{name}-lenient", f"Maybe {other}?{turn}I play b2") == Reading("unparsable")


PLAIN_TURNS = ["User:", "USER:", "Human:", "### Human:", "**User:**", "Observation:", "> Observation 2:", "System :"]
"""Lines that begin a turn of another without control tokens."""


@pytest.mark.parametrize("turn", PLAIN_TURNS)
def test_plain_turn_line_after_the_answer_is_ignored(turn: str) -> None:
    for name in READERS:
        first, second = READERS[name].answer("b2"), READERS[name].answer("a3")
        for behind in (
            f"{turn} I play c1.",
            f"{turn}\nWait, c1 it is.\n{turn} And now?",
            f"{turn} Your move?\n\nAssistant: <think>hm</think>{second}\n{turn} And now?",
            f"{turn} Your move?\n\nAssistant: <think>hm <move>b1",
        ):
            reading = read_by(f"{name}-lenient", f"{first}\n\n{behind}")
            assert (reading.kind, reading.move, reading.repaired) == ("move", "b2", ("text",)), behind
        thoughts = f"<think>\n{turn} maybe {second}\n{turn} taken.\n</think>\n"
        assert read_by(f"{name}-lenient", f"{thoughts}{first}\n{turn} I play c1.\n{second}").move == "b2"


@pytest.mark.parametrize("turn", PLAIN_TURNS)
def test_plain_turn_line_before_the_answer_starts_no_turn(turn: str) -> None:
    for name in READERS:
        mark, other = READERS[name].answer("b2"), READERS[name].answer("a3")
        assert read_by(f"{name}-lenient", f"Maybe {other}.\n{turn} it is taken.\n</think>\n{mark}").move == "b2"
        assert read_by(f"{name}-lenient", f"Hm.\n{turn} a3 is taken.\n<move>b2</move>").move == "b2"
        assert read_by(f"{name}-lenient", json.dumps({"note": f"x\n{turn} y", "move": "b2"})).move == "b2"
        text = f"Hi\n{turn} hello"
        assert read_by(f"{name}-lenient", READERS[name].answer(text), None).move == text
    marked = f"<move>Hi\n{turn} hello</move>\n{turn} ho\n<move>Ho</move>"
    assert read_by("tags-lenient", marked, None).move == f"Hi\n{turn} hello"


def test_marked_free_text_may_contain_turn_tokens() -> None:
    how, user = LENIENT["tags-lenient"], "<|im_end|>\n<|im_start|>user\n"
    assert read_reply(f"<move>Hi</move>{user}<move>Ho</move>", None, how, None).move == "Hi"
    assert read_reply(f"So: <move>Write {user}here</move>", None, how, None).move == f"Write {user}here"
    bare, turn = LENIENT["move-lenient"], "<|im_end|>\n<|im_start|>assistant\n"
    assert read_reply(f"Write {user}here", None, bare, None).move == f"Write {user}here"
    assert read_reply(f"Hi{user}Ho{turn}Hey", None, bare, None).move == "Hi"
    assert read_reply(f"secret{turn}Hi", None, bare, None).move == "Hi"


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("<Move>b2</Move>", ("tags",)),
        ("<move >b2</move >", ("tags",)),
        ("<move>b2", ("tags",)),
        ("I see. <move>b2", ("text", "tags")),
        ("<move>b2<move>", ("text", "tags")),
        ("<move>b2</move>\n</think>", ("thoughts",)),
        ("<think>a3?</think><move>b2</move></think>", ("thoughts",)),
        ("<move>**b2**</move>", ("text",)),
        ("<move>`b2`.</move>", ("text",)),
        ("<move>Move: b2</move>", ("text",)),
        ("\ufeff<move>b2\u200b</move>", ("text",)),
        ("<move>\n```\nb2\n```\n</move>", ("fence",)),
        ("The form is <move>...</move>. <move>b2</move>", ("text",)),
        ("The form is <move>…</move>.\n~~~\n<move>b2</move>\n~~~", ("text", "fence")),
        ("<move>b2</move> <!-- the centre -->", ("text",)),
        ("<move>b2</move>, not {a3, c1}", ("text",)),
        ('{"move": "b2"}', ("json",)),
        ('So: {"move": "b2"}\n\nIt takes the centre.', ("text", "json")),
        ('{"why": {"rows": [1, 2]}, "move": "b2"}', ("json",)),
        ('~~~json\n{"Move": "b2"}\n~~~', ("fence", "json")),
        ('```json\n{"move": "b2"}', ("text", "json")),
    ],
)
def test_nearly_correct_marks_are_read(text: str, repaired: tuple[str, ...]) -> None:
    assert read_by("tags-lenient", text) == Reading("move", "b2", repaired=repaired)


@given(
    st.sampled_from(sorted(THOUGHTS)),
    texts.filter(lambda text: remove_thoughts(text) == text.strip() and "`" not in text),
    names,
)
def test_thoughts_before_one_tagged_move_do_not_change_it(family: str, thought: str, name: str) -> None:
    opening, closing = THOUGHTS[family]
    reading = read_by(f"{name}-lenient", f"{opening}{thought}{closing}\n<move>b2</move>")
    assert (reading.kind, reading.move) == ("move", "b2")


WORDS = (["call", "fold", "bet", "raise 5"], re.compile(r"call|fold|bet|raise \d+"))
COLUMNS = (["3", "4", "5"], re.compile("[1-7]"))
LETTERS = (["a", "b", "c"], re.compile("[a-z]"))
BOARD = (LEGAL, SQUARES)
Moves = tuple[list[str], re.Pattern[str]]


@pytest.mark.parametrize(
    ("name", "text", "move"),
    [
        *(("tags", f"<move>{text}</move>", text.lower()) for text in ("Call", "FOLD", "Raise 5")),
        ("tags", "<move>**Raise 5**</move>", "raise 5"),
        ("json", '{"move": "Call"}', "call"),
        ("move", "Call", "call"),
        ("move", "Move: Raise\u202f5.", "raise 5"),
        ("tags", "<move>raise\u00a05</move>", "raise 5"),
        ("tags", "<move>Raise 6</move>", None),
        *(("tags", f"<move>all{dash}in</move>", "all-in") for dash in "‐‑–—−－"),
        *(("json", json.dumps({"move": move}), "2x3 1/4") for move in ("2×3 1/4", "2x3 1⁄4", "２x３ １/４")),
        ("move", "All‑In", "all-in"),
        ("tags", "<move>all‑in</move> is my `<move>`, not <move>all-in</move>", "all-in"),
        ("tags", "<move>all in</move>", None),
        *(("tags", f"<move>{text}</move>", "raise 5") for text in ("raise5", "Raise  5", "raise 5。")),
        *(("tags", f"<move>{text}</move>", "2x3 1/4") for text in ("2 x 3 1 / 4", "2 × 3  1⁄ 4")),
        *(("tags", f"<move>{text}</move>", None) for text in ("2x31/4", "2x3 1 / 4 4")),
    ],
)
def test_case_and_typography_variants_are_read(name: str, text: str, move: str | None) -> None:
    legal = [*WORDS[0], "all-in", "2x3 1/4"]
    reading = read_reply(text, legal, GENERAL[f"{name}-lenient"], WORDS[1])
    assert reading == (Reading("move", move, repaired=("text",)) if move else Reading("unparsable"))


def test_case_matters_when_it_distinguishes_legal_moves() -> None:
    legal, pattern = ["bxc3", "Bxc3", "O-O"], re.compile("[a-zA-Z]xc3|O-O")
    for text, kind in (("bxc3", "move"), ("Bxc3", "move"), ("BXC3", "unparsable"), ("o-o", "move")):
        assert read_reply(f"<move>{text}</move>", legal, GENERAL["tags-lenient"], pattern).kind == kind


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("text", "move"),
    [
        ('{"reason": "line one\nline two", "move": "b2"}', "b2"),
        ('{"reason": "a\tb", "move": "b2"}', "b2"),
        ('{"reason": "\\( x \\) and \\\\(", "move": "b2"}', "b2"),
        ('{"reason": "C:\\users\n</think> \\d", "move": "b2"}', "b2"),
        ('So:\n```json\n{"reason": "\\pi", "move": "b2"}\n```', "b2"),
        ('{"reason": "x\ny", "move": "b2", "move": "a3"}', None),
        ('{"reason": "x\ny, "move": "b2"}', None),
        ('{"move": "a3"} No: {"reason": "x\ny", "move": "b2"}', None),
    ],
)
def test_line_breaks_and_backslashes_in_json_are_read(name: str, text: str, move: str | None) -> None:
    assert read_by(f"{name}-lenient", text).move == move
    assert read_by(name, text) == Reading("unparsable")


def test_backslashes_in_free_text_remain() -> None:
    text = '{"why": "x\ny", "move": "\\( x \\)"}'
    assert read_reply(text, None, GENERAL["json-lenient"], None).move == "\\( x \\)"


DECORATED = [
    "[b2]",
    "[[b2]]",
    "(b2)",
    "“b2”",
    "‘b2’",
    "$b2$",
    "$$b2$$",
    r"\(b2\)",
    r"\boxed{\mathrm{b2}}",
    *("b2。", "【b2】", "「b2」", "『b2』", "《b2》", "Move：b2"),
    r"\boxed{\text{b2}}",
]


@pytest.mark.parametrize("text", [*DECORATED, r"$\boxed{b2}$", "**[b2]**", "“**b2**.”"])
def test_decorated_move_is_read(text: str) -> None:
    assert read_by("tags-lenient", f"<move>{text}</move>") == Reading("move", "b2", repaired=("text",))
    assert read_by("move-lenient", text) == Reading("move", "b2", repaired=("text",))
    assert read_by("tags-lenient", text) == Reading("unparsable")


@pytest.mark.parametrize("text", ["**Final Answer**\n\\boxed{b2}", "**Answer**\nb2", "## Final Answer\n\n**b2**"])
def test_bare_move_under_a_heading_is_read(text: str) -> None:
    assert read_by("move-lenient", text) == Reading("move", "b2", repaired=("text",))
    assert read_by("move-lenient", f"I see.\n{text}") == Reading("unparsable")


PROSE_BEHIND = [
    *("If the opponent takes a3, I'll play c1 instead.", "Then I'll take c1 or a3 to win.", "Then I play c1."),
    *("I choose b2 over c1.", "I'm going with a3.", "Wait, actually, c1 is better.", "Actually, a3 is worse."),
    *("Final answer: c1", "Move: a3", "**Decision:** a3", "## Move\n\nc1", "<answer>c1</answer>", r"\boxed{a3}"),
    *("Alternative moves:\na3", "Best replies for X:\n- a3\n- c1", "## Next moves\n- c1\n- a3", "Why not a3?\n\na3"),
    *("Here is the board after my move:\n```\n. X .\n```", "This blocks X's winning move: `a3`", "Best move: `b2`"),
    *(
        "| Move | Score |\n|---|---|\n| b2 | 5 |\n| a3 | 1 |",
        'Legal moves: ["a3","c1"]',
        "[Move made]",
        "Valid move: ✅",
    ),
    *('"Move" here means a square.', "I used the `<move>` tag as asked, and `</move>` behind it.", 'Next move: "c1"'),
    *("Note: I put it within <move> tags.", "Format: <move>your move</move>", '{"move": "your move"}', "{move: a3}"),
    *("<move_explanation>It beats a3.</move_explanation>", "[move]a3[/move]", '{"next_move": "a3"}', "&lt;move&gt;a3"),
    *("<reasoning>It beats a3.</reasoning>", "<rationale>It wins.</rationale>\nGood luck!", "<think>\n\n</think>"),
    *("<analysis>a3 <think>loses</think></analysis>", "[reasoning]It wins.[/reasoning]", "<!-- a3 -->"),
]
"""Text behind a move that marks no other move of the game."""


@pytest.mark.parametrize("prose", PROSE_BEHIND)
@pytest.mark.parametrize("form", ["<move>{}</move>", '{{"move": "{}"}}', '```json\n{{"move": "{}"}}\n```'])
def test_prose_after_a_mark_is_ignored(prose: str, form: str) -> None:
    for name in READERS:
        reading = read_by(f"{name}-lenient", f"{form.format('b2')}\n\n{prose}")
        assert (reading.kind, reading.move) == ("move", "b2")


@pytest.mark.parametrize(
    "before",
    [
        *(
            "I must answer inside <move> and </move>.",
            "Format: <move>your move</move>",
            "<move>MOVE</move> is the form.",
        ),
        *('{"move": "your move"}', "The form is `<move>...</move>`.", "Move: a3?", "My answer is a3. No:"),
        *("<move></move> is empty, <move> is not closed.", "<move>a3 <move>", '{"moves": ["a3", "c1"]}'),
    ],
)
def test_format_words_before_a_mark_are_ignored(before: str) -> None:
    for name in READERS:
        for mark in ("<move>b2</move>", '{"move": "b2"}'):
            assert read_by(f"{name}-lenient", f"{before}\n{mark}").move == "b2"


@pytest.mark.parametrize("name", ["tags", "json"])
@pytest.mark.parametrize("behind", ["**Answer:** The capital is Paris.", "Answer: Rome", r"\boxed{Rome}", "I like it."])
def test_prose_after_marked_free_text_is_ignored(name: str, behind: str) -> None:
    reading = read_reply(f"<move>Paris</move>\n\n{behind}", None, GENERAL[f"{name}-lenient"], None)
    assert (reading.kind, reading.move) == ("move", "Paris")


@pytest.mark.parametrize(
    "correction",
    [
        *(
            "<move>b2",
            "<move>b2<move>",
            "<Move>b2</Move>",
            "<move >b2</move >",
            "<move>b2</ move>",
            "<move>**B2**</move>",
        ),
        *(
            '{"move": "b2"}',
            '{"Move": "b2"}',
            '{"move": "b2", "n": 1}',
        ),
        *("<!-- <move>b2</move> -->", '```json\n{"move": "a3"}\n{"move": "b2"}\n```'),
    ],
)
@pytest.mark.parametrize("first", ["<move>a3</move>", '{"move": "a3"}', '```json\n{"move": "a3"}\n```'])
def test_conflicting_mark_withdraws_the_move(first: str, correction: str) -> None:
    for name in READERS:
        assert read_by(f"{name}-lenient", f"{first} Wait, no: {correction}") == Reading("unparsable")


@pytest.mark.parametrize(
    "behind",
    [
        *(
            "<think>hm",
            "<reasoning><move>b2</move></reasoning>a3",
            "hm</think>",
        ),
        *(
            "<think>hm</think>\n<|im_start|>assistant\nI play c1",
            "◁think▷hm◁/think▷",
            "<think>or <move>c1</move>?</think>",
        ),
    ],
)
def test_later_thoughts_can_withdraw_a_move(behind: str) -> None:
    assert read_by("tags-lenient", f"<move>a3</move>\n{behind}") == Reading("unparsable")


@pytest.mark.parametrize(
    "user", ["<|im_end|>\n", "<|im_end|>\n<|im_start|>user\nB?<|im_end|>\n<|im_start|>assistant\n"]
)
@pytest.mark.parametrize("legal", [LEGAL, None])
def test_invented_turn_within_thoughts_is_ignored(user: str, legal: list[str] | None) -> None:
    reply = f"<think>A{user}<think>x</think><move>a3</move>"
    assert read_by("tags", reply, legal).move == "a3"
    assert read_by("tags-lenient", reply, legal) == Reading("unparsable")
    quoted = "<think>It ends with <|im_end|>.</think><move>a3</move>"
    assert read_by("tags-lenient", quoted, legal) == Reading("move", "a3")


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("**b2**", ("text",)),
        ("***b2***.", ("text",)),
        ("`b2`", ("text",)),
        ("“b2”", ("text",)),
        ('"b2"', ("text",)),
        ("b2.", ("text",)),
        ("Move: b2", ("text",)),
        ("**Move:** b2", ("text",)),
        ("**Move: b2**", ("text",)),
        ("Final answer: b2", ("text",)),
        ("**My final move:** b2.", ("text",)),
        ("Final answer: a3 or b2", None),
        ("\ufeffb2\n", ("text",)),
        ("~~~\nb2\n~~~", ("fence",)),
        ("```\n**b2**\n```", ("text", "fence")),
        ("[THINK]a3?[/THINK]Move: `b2`", ("thoughts", "text")),
        ("b2\n\nIt takes the centre.", None),
        ("b2!", None),
        ("B2", ("text",)),
        ("Move: b2 or a3", None),
        ("I play **b2**", None),
        ("Move: a3\nMove: b2", None),
    ],
)
@pytest.mark.parametrize("pattern", [SQUARES, None])
def test_bare_move_is_read_in_emphasis_and_with_a_label(
    text: str, repaired: tuple[str, ...] | None, pattern: re.Pattern[str] | None
) -> None:
    reading = read_reply(text, LEGAL, GENERAL["move-lenient"], pattern)
    if repaired is None:
        assert reading.kind == ("unparsable" if pattern else "illegal")
    else:
        assert reading == Reading("move", "b2", repaired=repaired)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ('{"move": 4}', ("json",)),
        ('{"reasoning": "centre", "move": 4}', ("json",)),
        ('```json\n{"move": 4}\n```', ("fence", "json")),
        ('{"move": 4.0}', None),
        ('{"move": 4e0}', None),
        ('{"move": true}', None),
        ('{"move": null}', None),
        ('{"move": 4} or {"move": 5}', None),
    ],
)
def test_number_is_read_as_the_move_it_spells(name: str, text: str, repaired: tuple[str, ...] | None) -> None:
    pattern = re.compile("[1-7]")
    expected = Reading("unparsable") if repaired is None else Reading("move", "4", repaired=repaired)
    assert read_reply(text, ["4", "5"], GENERAL[f"{name}-lenient"], pattern) == expected
    assert read_reply(text, ["4", "5"], GENERAL[name], pattern) == Reading("unparsable")


def test_legal_move_is_kept_unchanged() -> None:
    for move in ('"b2"', "b2.", "*b2*", "Move: b2"):
        assert read_reply(move, ["b2", move], GENERAL["move-lenient"], None) == Reading("move", move)


@pytest.mark.parametrize(
    ("text", "move", "repaired"),
    [
        (" forty-two.\n", " forty-two.\n", ()),
        ("**42**", "**42**", ()),
        ('{"move": "42"}', '{"move": "42"}', ()),
        ("<think>6 * 7</think>\n42", "42", ("thoughts",)),
        ("6 * 7 is 42</think>\n\n42\n", "42", ("thoughts",)),
        ("[THINK]6 * 7[/THINK]\n```\n42\n```", "42", ("thoughts", "fence")),
        ("```text\n42\n```", "42", ("fence",)),
        ("<think>6 * 7 is", None, ()),
        ("<think>42</think>", None, ()),
        ("[THINK]6 * 7[/THINK]It </think> is 42", None, ()),
        ("6 * 7</think>42", None, ()),
        ("6 * 7 <|end|><|start|>assistant<|channel|>final<|message|>42", "42", ("thoughts",)),
        ("6 * 7◁/think▷42", "42", ("thoughts",)),
        ("</think>\n\n42", "42", ("thoughts",)),
        ("I use </think>\ntags.\n</think>\n42", None, ()),
        ("It is <think>6 * 7\n</think>\n42", None, ()),
        ("It is\n```thinking\n6 * 7\n```\n42", None, ()),
        ("42<|channel|>analysis<|message|>6 * 7", None, ()),
        ("About </think> tags: fine", None, ()),
        ("42\n<think>\n6 * 7", None, ()),
        ("42\n  [THINK]6 * 7", None, ()),
        ("42\n<reasoning>6 * 7</reasoning>", None, ()),
        ("<think>Not [THINK]</think>The <reasoning> is 42", "The <reasoning> is 42", ("thoughts",)),
        *((text, text, ()) for text in ("We need the <reasoning> behind it.", "4<think>2", "a [THINK] b")),
    ],
)
def test_bare_free_text_drops_thoughts_and_fences(text: str, move: str | None, repaired: tuple[str, ...]) -> None:
    reading = read_reply(text, None, GENERAL["move-lenient"], None)
    assert reading == Reading("move" if move else "unparsable", move, repaired=repaired)


DELIMITERS = [delimiter for pair in THOUGHTS.values() for delimiter in pair if delimiter.strip("`\n")]
CLOSINGS = [
    closing
    for family, (_, closing) in THOUGHTS.items()
    if closing.strip("`\n") and "details" not in closing and family != "Granite"
]


@given(
    st.lists(st.sampled_from([*DELIMITERS, "\n```thinking\nword\n```\n", "\n", " "]), max_size=5),
    st.sampled_from(CLOSINGS),
)
def test_bare_free_text_never_contains_thoughts(before: list[str], closing: str) -> None:
    for tail in ("Hello", "\nHello", "\n\nHello <think> tank"):
        reply = "secret".join(["", *before, closing]) + tail
        reading = read_reply(reply, None, GENERAL["move-lenient"], None)
        assert reading.move is None or "secret" not in reading.move


@pytest.mark.parametrize("name", ["tags", "json"])
@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("Sure! <move>Hello, I think <move> is fine</move>", None),
        ("Sure! <move>Hello there", None),
        (r"Sure! <move>Hello there <\/move>", None),
        ("Sure! <move>Hello</ move> Let me know.", "Hello"),
        ("Sure! <move>Use </move> to end it</move>", None),
        ("Sure! <think>Or <move>Hello</move>", None),
        ("Sure! <think>Or</think> <move>Hello</move>", "Hello"),
        ("6 * 7</think> So <move>Hello</move>", "Hello"),
        ("<think>hm</think> and </think> so <move>Hello</move> it is.", "Hello"),
        ("Or <move>Hi</move></think> so <move>Hello</move>", None),
        ("6 * 7</think> So <think>no <move>Hello</move>", None),
        ("6 * 7</think> So <move>Hello</move></think> Bye", None),
        ("6 * 7</think> So <move>Hello", None),
        ("Sure! <move>Hello</move> Let me know.", "Hello"),
        ("hm\n</think>\nSure! <move>Hello</move>", "Hello"),
        ("Sure! <move>Our <think> tank</move>", "Our <think> tank"),
        ("Sure! <move>The <reasoning> in </think> tags</move>", "The <reasoning> in </think> tags"),
        ('Sure! {"move": "The <think> tag"}', "The <think> tag"),
    ],
)
def test_marked_free_text_is_read_completely_or_not_at_all(name: str, text: str, move: str | None) -> None:
    reading = read_reply(text, None, GENERAL[f"{name}-lenient"], None)
    assert (reading.kind, reading.move) == ("unparsable" if move is None else "move", move)


CALL = '{"name": "put", "arguments": {"move": "b2", "n": 10000000000000000000001}}'
PRETTY = CALL.replace("{", "{\n  ")


@pytest.mark.parametrize(
    ("name", "text", "repaired"),
    [
        ("tags", f"<move>\n{PRETTY}\n</move>", ("json",)),
        ("tags", f"<move>```json\n{CALL}\n```</move>", ("fence",)),
        ("tags", f"[THINK]hm[/THINK]Now: <move>```json\n{PRETTY}\n```</move>", ("thoughts", "text", "fence", "json")),
        ("tags", f'{{"move": {CALL}}}', ("json",)),
        ("json", f'{{"move": {PRETTY}}}', ("json",)),
        ("move", PRETTY, ("json",)),
        ("move", f"<thinking>hm</thinking>```json\n{PRETTY}\n```", ("thoughts", "fence", "json")),
        ("move", CALL, ()),
    ],
)
def test_calls_are_read_across_lines_and_in_fences(name: str, text: str, repaired: tuple[str, ...]) -> None:
    reading = read_reply(text, None, GENERAL[f"{name}-lenient"], None, calls=True)
    assert reading == Reading("move", CALL, repaired=repaired)


def test_several_multiline_calls_are_one_move() -> None:
    reading = read_reply(f"<move>{PRETTY}\n\n{PRETTY}</move>", None, GENERAL["tags-lenient"], None, calls=True)
    assert reading == Reading("move", f"{CALL}\n{CALL}", repaired=("json",))


def test_free_text_keeps_whitespace_and_fences() -> None:
    how = LENIENT["tags-lenient"]
    code = '\n```json\n{"move": "b2"}\n```\n'
    assert read_reply(f"Done: <move>{code}</move>", None, how, None) == Reading("move", code, repaired=("text",))


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 70_000,
        "</think>" * 60_000,
        "<move>" * 60_000,
        "</move>" * 60_000,
        "`" * MAX_REPLY,
        "``` " * 250_000,
        "```" + " " * 900_000 + "```",
        '```\n{"move": "b2"}\n```\n' * 15_000,
        f"```\n{'<move>b2</move>' * 30_000}\n```",
    ]
    + [
        "<move>b2</move>" * 30_000 + "<move>a3</move>",
        "```<move>b2</move>```" * 20_000,
        "<move>b2</move>".ljust(MAX_REPLY + 1),
        '{"a":' * 50_000,
        '{"a":[1,' * 15_000,
        '{"move": "b2"} ' * 15_000,
        '{"move": ' * 25_000,
        "<!-- " * 50_000,
        "&lt;think " * 25_000,
        "◁think▷" * 35_000,
        f"{'`' * 100_000}{'a' * 100_000} <move>b2</move>",
        f"<move>{CALL}{'.' * 200_000}</move>",
        f"<move>{(CALL + ' ') * 10_000}</move>",
        "{ x " * 40_000,
        '{"' * 400_000,
        '{"a": 1 \n' * 40_000,
        '"\n' * 100_000,
        "move " * 50_000,
        *("<move>b2</move>" + text for text in (".Move: x" * 50_000, "no, I " * 50_000, "\n" * 300_000 + "x")),
        "<move>b2</move>" + "".join(f"\nMove: {number}" for number in range(20_000)),
        *("<move>b2</move>" + "<answer>" * 40_000, "<move>b2</move>" + "my move is " * 40_000),
        *("[/think]" * 50_000, "[think]" * 50_000, "<details " * 50_000, "<|im_start|>user " * 30_000),
        *("<move>b2</move>\nwait " + text for text in ("a9 " * 200_000, "a9\n" * 200_000, "x" * 600_000)),
        *("<move>b2</move>" + text for text in ("\n```" * 100_000, "\nb2" * 150_000, "\nI choose x" * 50_000)),
        *("<move>b2</move>" + text for text in ("<reasoning></reasoning>" * 20_000, "`<move>`" * 60_000)),
        *('{"a": "\n\\d' * 60_000, '{"move": "b2", "a": "\n\\d"} ' * 10_000, "[" * 900 + "b2" + "]" * 90),
        *(text * 10_000 for text in ("<move>b2</move>\nUser: </think>", "<think><move>a3</move>\nUser: ")),
        *("b2" + "\nUser:" * 100_000, "<move>b2</move>" + "\nUser: {" * 30_000),
        "<move>" + "\u0315\u0300" * 400_000,
        *("<" * MAX_REPLY, "<|a|>" * 200_000, "<|a|> b " * 120_000, "<answer>" * 120_000, r"\boxed{" * 140_000),
    ],
    ids=[
        *("think", "thought", "open", "close", "ticks", "fences", "blank fence", "JSON fences", "in one fence"),
        *("moves", "fenced", "too long", "objects", "lists", "JSON", "open JSON", "comments", "escaped", "Kimi"),
        *("ticks and text", "dots", "calls", "braces", "keys", "broken objects", "quotes", "words"),
        *("labels", "corrections", "line breaks", "different labels", "answers behind", "statements"),
        *("closing brackets", "brackets", "details", "turns"),
        *("changes", "changed lines", "changed word", "fence lines", "listed", "choices", "thoughts behind"),
        *("quoted tags", "broken escapes", "escapes", "decoration"),
        *("closed turns", "open turns", "bare turns", "turns with objects"),
        *("accents", "angles", "tokens", "tokens and text", "answers", "boxes"),
    ],
)
@pytest.mark.parametrize("length", [100_000, pytest.param(MAX_REPLY, marks=pytest.mark.slow)])
def test_huge_replies_are_read_in_linear_time(text: str, length: int) -> None:
    text = text[: length // 2] + text[length // 2 :][-length // 2 :]  # with its end
    assert read_by("tags-lenient", text).kind in ("unparsable", "move")
    assert read_reply(text, None, GENERAL["tags-lenient"], None).kind in ("unparsable", "move")


def test_lenient_readers_are_found_by_name_and_share_instructions() -> None:
    for name, how in READERS.items():
        assert get_reader(f"{name}-lenient") == get_lenient_reader(how) == get_lenient_reader(get_lenient_reader(how))
        assert get_lenient_reader(how).instructions("full") == how.instructions("full")
        assert get_lenient_reader(how).answer("b2") == how.answer("b2")
    with pytest.raises(BadOption, match="reading=strict"):
        get_lenient_reader(list_tools_readers()[0])


def test_marks_are_found_in_order() -> None:
    found = find_marks('<move>a</move>```json\n{"move": "b"}\n```<move>c</move>')
    assert [(mark.text, mark.form) for mark in found] == [("a", "tags"), ("b", "json"), ("c", "tags")]


# records


class ChattyPlayer:
    """A player that answers in prose with a tagged move, and now and then with two."""

    name = "chatty"
    reader = LENIENT["tags-lenient"]
    style = "full"

    def act(self, asks: list[Ask]) -> list[Reply]:
        texts = [f"I see. <move>{(ask.legal_moves or [''])[0]}</move>" for ask in asks]
        return [Reply(text + text.replace("[0]", "") * ask.turn) for text, ask in zip(texts, asks, strict=True)]


def chatty_record() -> Record:
    [played] = play([MatchJob("m", load_game("tic_tac_toe"), [ChattyPlayer(), make_player("random")], 1)])  # type: ignore[list-item]
    return Record.from_match(played)


def test_record_with_repairs_replays() -> None:
    record = Record.parse(chatty_record().line())
    assert record.prompts[0]["reader"] == "tags-lenient"
    mine = [turn for turn in record.turns if turn["seat"] == 0]
    assert all(turn["repaired"] == ["text"] for turn in mine)
    assert not any("repaired" in turn for turn in record.turns if turn["seat"] == 1)
    assert find_first_difference(record) is None


@pytest.mark.parametrize(
    ("repaired", "says"),
    [
        (None, "recorded with nothing repaired, but its reader repairs text"),
        (["fence"], "recorded with fence repaired, but its reader repairs text"),
    ],
)
def test_false_repair_claim_is_detected(repaired: list[str] | None, says: str) -> None:
    data = json.loads(chatty_record().line())
    if repaired is None:
        del data["turns"][0]["repaired"]
    else:
        data["turns"][0]["repaired"] = repaired
    assert says in (find_first_difference(Record.parse(json.dumps(data))) or "")


def test_hidden_lenient_reader_is_detected() -> None:
    data = json.loads(chatty_record().line())
    data["prompts"][0]["reader"] = "tags"
    assert find_first_difference(Record.parse(json.dumps(data))) is not None


def test_board_counts_repaired_replies() -> None:
    record, tally = chatty_record(), BoardTally()
    tally.add(record)
    conduct = {player: tally.players[player].to_conduct() for player in record.players}
    assert conduct["chatty"].repaired == sum(turn["seat"] == 0 for turn in record.turns) > 0
    assert conduct["random"].repaired == 0


def test_unknown_repair_invalidates_the_record() -> None:
    data = json.loads(chatty_record().line())
    data["turns"][0]["repaired"] = ["magic"]
    with pytest.raises(BadRecord, match="turns"):
        Record.parse(json.dumps(data))
