"""Stories of matches show what happened and what was sent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gymposium.games.registry import load_game
from gymposium.match import Turn
from gymposium.match.ending import Ending
from gymposium.records import Record
from gymposium.replies.reading import LENIENT, read_reply, split_thoughts
from gymposium_viewer.replays.reasons import explain_failure, extract_move
from gymposium_viewer.replays.story import ReplyAttempt, Story, build_story

from .conftest import ScriptedPlayer, write


def make_story(tmp_path: Path, name: str, players: list[Any], *, policy: str = "forfeit", **changes: Any) -> Story:
    write(tmp_path / "m.jsonl", name, players, policy=policy)
    data = json.loads((tmp_path / "m.jsonl").read_text(encoding="utf-8"))
    return build_story(replace(Record.parse(json.dumps(data)), **changes))


def tries(story: Story, seat: int) -> list[ReplyAttempt]:
    return [one for step in story.steps for act in step.acts if act.seat == seat for one in act.attempts]


@pytest.mark.parametrize("style", ["full", "compact"])
@pytest.mark.parametrize("reply", ["move", "tags", "json"])
@pytest.mark.parametrize("game", ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)"])
def test_prompts_are_those_that_were_sent(tmp_path: Path, game: str, reply: str, style: Any) -> None:
    """Character by character, including the reasons in retries."""
    player = ScriptedPlayer("nonsense", "<move>z9</move>", reply=reply, style=style)
    story = make_story(tmp_path, game, ["random", player], policy="retry(3)")
    found = tries(story, 1)
    assert [one.prompt.before + one.prompt.rules + one.prompt.after for one in found if one.prompt] == player.prompts
    assert found[1].prompt is not None
    assert found[1].prompt.before
    assert story.seats[1].rules == found[0].prompt.rules  # type: ignore[union-attr]
    assert story.seats[1].prompt_difference == ""
    assert all(one.sent for one in found)
    assert not any(one.sent for one in tries(story, 0))


@pytest.mark.parametrize(
    ("context", "rules"), [("full", [True, False]), ("last-2", [True, False]), ("state", [True, True])]
)
def test_later_conversation_messages_omit_the_rules(tmp_path: Path, context: str, rules: list[bool]) -> None:
    """As gymposium-agents sends them in a conversation."""
    player = ScriptedPlayer(name=f"lm:x?reply=move&context={context}")
    found = tries(make_story(tmp_path, "tic_tac_toe", [player, "random"]), 0)
    assert [bool(one.prompt and one.prompt.rules) for one in found[:2]] == rules


@pytest.mark.parametrize(
    ("said", "reply", "reading", "why"),
    [
        (("b2", "b2"), "move", "illegal", "“b2” is a move in this game, but not one of the 7 legal ones here."),
        (("I like b2.",), "move", "unparsable", "“I like b2.” does not look like a move in this game."),
        (("B2",), "move", "unparsable", "The legal move “b2” must be written exactly like this."),
        (("",), "move", "unparsable", "It is empty."),
        (
            ("b2",),
            "tags",
            "unparsable",
            "It does not have the requested form: <think>...</think><move>...</move>",
        ),
        (("<move> </move>",), "tags", "unparsable", "The place for the move is empty."),
        (('{"move": "up"}',), "json", "unparsable", "“up” in the place of the move does not look like"),
        (
            ("x" * 5000,),
            "move",
            "unparsable",
            "5,000 characters, and does not look like a move in this game.",
        ),
        (
            ("<move>a3</move> or <move>b2</move>",),
            "tags-lenient",
            "unparsable",
            "It has several final moves: “a3”, “b2”.",
        ),
        (
            ("<think>So.<|im_end|>\n<|im_start|>user\nB?<|im_end|>\n<|im_start|>assistant\n</think><move>a3</move>",),
            "tags-lenient",
            "unparsable",
            "It marks “a3”, but only after a turn that the model invented.",
        ),
        (("<move>b2</move>", "<Move>**b2**</Move>"), "tags-lenient", "illegal", "“b2” is a move in this game, but not"),
        (("<think>b<cut>",), "tags", "cut off", "reached the token limit"),
    ],
)
def test_story_says_why_a_reply_failed(
    tmp_path: Path, said: tuple[str, ...], reply: str, reading: str, why: str
) -> None:
    story = make_story(tmp_path, "tic_tac_toe", [ScriptedPlayer(*said, reply=reply, name="lm:small?reply=x"), "random"])
    last = tries(story, 0)[-1]
    assert (last.reading, last.text) == (reading, said[-1].removesuffix("<cut>"))
    assert why in last.why
    assert story.verdict == [
        "Seat 0 (lm:small) gave no legal move and forfeits.",
        f"Its last reply was {reading}. {last.why}",
    ]
    assert story.is_unfinished
    assert story.decisive == story.steps[-1].number == len(said) * 2 - 2
    assert (last.prompt_tokens, last.reply_tokens, last.seconds) == (31, 7, 0.5)
    assert story.seats[0].reply_tokens == 7 * len(said)
    assert story.difference == story.trouble == ""


def test_page_replays_its_match_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "matches.jsonl", "tic_tac_toe", ["random", "random"])
    record = Record.parse((tmp_path / "matches.jsonl").read_text())
    monkeypatch.setattr("gymposium.records.replay.play", None)
    story = build_story(record)
    assert (story.trouble, story.difference) == ("", "")
    record.penalties = {"0": 1.0}
    assert build_story(record).difference.startswith("penalties: ")


def test_each_seat_has_its_own_view(tmp_path: Path) -> None:
    story = make_story(tmp_path, "kuhn_poker", ["random", "random"])
    assert story.steps[0].chance
    for step in story.steps:
        mine, theirs = (view.text for view in step.views)
        assert mine != theirs
    assert [act.move for step in story.steps for act in step.acts] == [
        event.move for event in story.record.events if event.seat >= 0
    ]
    assert story.steps[-1].ends
    assert not story.is_unfinished


def test_randomly_drawn_move_is_marked(tmp_path: Path) -> None:
    story = make_story(tmp_path, "tic_tac_toe", [ScriptedPlayer("hm"), "random"], policy="random")
    assert [act.drawn for step in story.steps[:3] for act in step.acts] == [True, False, False]


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"ending": Ending("timed out", 0)}, "Seat 0 (scripted) did not answer in time and forfeits."),
        (
            {"ending": Ending("out of context", 0)},
            "Seat 0 (scripted) had no space left for a reply in its context and forfeits.",
        ),
        ({"ending": Ending("crashed", 0, "KeyError: 'x'")}, "Seat 0 (scripted) crashed (KeyError: 'x') and forfeits."),
        (
            {"ending": Ending("broke off", detail="OSError: gone"), "returns": [], "results": []},
            "The match broke off: OSError: gone",
        ),
    ],
)
def test_missing_replies_are_explained(tmp_path: Path, changes: dict[str, Any], verdict: str) -> None:
    story = make_story(tmp_path, "tic_tac_toe", [ScriptedPlayer("nonsense"), "random"], turns=[], **changes)
    assert story.verdict == [verdict]


def test_prompts_that_differ_from_the_sent_ones_are_marked(tmp_path: Path) -> None:
    write(tmp_path / "m.jsonl", "tic_tac_toe", ["random", "random"])
    data = json.loads((tmp_path / "m.jsonl").read_text(encoding="utf-8"))
    data["prompts"][1]["hash"] = "0123456789ab"
    data["prompts"][0]["version"] = 0
    story = build_story(Record.parse(json.dumps(data)))
    assert "wording version 0" in story.seats[0].prompt_difference
    assert "digest in the record is 0123456789ab" in story.seats[1].prompt_difference
    assert "prompt differs: seat 1" in story.difference


def test_inconsistent_event_is_reported_and_the_rest_shown(tmp_path: Path) -> None:
    whole = make_story(tmp_path, "tic_tac_toe", ["random", "random"])
    events = [list(event) for event in whole.record.events]
    broken = build_story(
        Record.parse(json.dumps(json.loads(whole.record.line()) | {"events": [*events[:3], events[0]]}))
    )
    assert "event 3 is" in broken.trouble
    assert [act.seat for step in broken.steps[:3] for act in step.acts] == [0, 1, 0]
    assert sorted(one.text for seat in (0, 1) for one in tries(broken, seat)) == sorted(
        turn["text"] for turn in whole.record.turns
    )
    other = build_story(Record.parse(json.dumps(json.loads(whole.record.line()) | {"returns": [5.0, 5.0]})))
    assert "returns: [5.0, 5.0] is recorded" in other.difference


def test_replies_are_shown_without_the_game(tmp_path: Path) -> None:
    story = make_story(tmp_path, "tic_tac_toe", [ScriptedPlayer("b2", "b2"), "random"], game="gone_with_its_plugin")
    assert "gone_with_its_plugin" in story.trouble
    assert [one.text for one in tries(story, 0)] == ["b2", "b2"]
    assert story.verdict[0] == "Seat 0 (scripted) gave no legal move and forfeits."


@pytest.mark.parametrize("name", sorted(LENIENT))
@pytest.mark.parametrize("legal", [["a3", "b2"], None])
@pytest.mark.parametrize(
    "reply",
    [
        *("hm\n</think>\nHello", "hm</think>Hello", "<move>**b2**</move>", "Sure! <move>**Hi**</move>", "```\nb2\n```"),
        *("Sure! <move>The <think> tag</move>", "I play <move>c1.</move>", "**Move:** b2", '{"move": "c1"}', "b2."),
    ],
)
def test_page_shows_the_move_that_was_read(reply: str, legal: list[str] | None, name: str) -> None:
    game, how = load_game("tic_tac_toe"), LENIENT[name]
    reading = read_reply(reply, legal, how, game.move_pattern)
    turn = Turn(0, reading.kind, reply, repaired=reading.repaired)
    if reading.move is not None:
        assert extract_move(turn, legal, how, game) == reading.move.strip()
    elif legal is None:
        assert "Hello" not in extract_move(turn, legal, how, game)
    assert bool(explain_failure(turn, legal, how, game)) == (reading.kind != "move")
    if reading.kind == "illegal":
        assert f"“{reading.move}”" in explain_failure(turn, legal, how, game)


@pytest.mark.parametrize(
    ("said", "reply", "thoughts", "answer"),
    [
        ("<think>a3?</think><move>b2</move>", "tags", "a3?", "<move>b2</move>"),
        ("<think>It begins <think>.</think><move>b2</move>", "tags", "It begins <think>.", "<move>b2</move>"),
        ("hm</think>b2", "move", "", "hm</think>b2"),  # its reader takes all of it as the move
        ("hm</think>\nb2", "move-lenient", "hm", "b2"),
        ("[THINK]a3?[/THINK]b2", "move-lenient", "a3?", "b2"),
        (
            "<|channel|>analysis<|message|>a3?<|end|><|channel|>final<|message|>b2<|return|>",
            "move-lenient",
            "a3?",
            "b2",
        ),
        ("<think>I write </think> last. a3?</think><move>b2</move>", "tags-lenient", "a3?", "<move>b2</move>"),
        ("[THINK]a3?[/THINK]Or [THINK]c1?[/THINK]<move>b2</move>", "tags-lenient", "c1?", "Or \n<move>b2</move>"),
        ("<seed:think>a3?", "tags-lenient", "a3?", ""),
        ("So <move>b2</move></think>", "tags-lenient", "", "So <move>b2</move></think>"),
        ("<move>b2</move><|im_end|>", "tags-lenient", "", "<move>b2</move><|im_end|>"),
    ],
)
def test_page_separates_thoughts_like_the_reader(
    tmp_path: Path, said: str, reply: str, thoughts: str, answer: str
) -> None:
    story = make_story(tmp_path, "tic_tac_toe", [ScriptedPlayer(said, reply=reply), "random"])
    for one in (story, build_story(replace(story.record, game="gone_with_its_plugin"))):
        shown = tries(one, 0)[0]
        assert shown.answer == answer
        assert thoughts in shown.thoughts if thoughts else shown.thoughts == ""
        assert all(tag not in shown.thoughts for tag in ("[THINK]", "<seed:think>", "<|channel|>final"))


@pytest.mark.parametrize("text", ["<think>6 * 7</think>It is <think> 42", "It is <think> 42"])
def test_page_separates_thoughts_from_free_text_like_the_reader(text: str) -> None:
    thoughts, answer = split_thoughts(text, LENIENT["move-lenient"], is_free_text=True)
    assert answer == read_reply(text, None, LENIENT["move-lenient"], None).move == "It is <think> 42"
    assert thoughts == ("6 * 7" if text.startswith("<think>") else "")
