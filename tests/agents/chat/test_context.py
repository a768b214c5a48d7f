"""Contexts select the past exchanges that a prompt shows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import BadOption, GymposiumError, UnknownName
from gymposium_agents.chat.context import Exchange, hide_thoughts, parse_context
from gymposium_agents.chat.tokens import Message

RULES = "rules. "
PAST = [Exchange(f"{RULES}turn {i}", f"turn {i}", f"<think>why {i}</think><move>b{i}</move>") for i in range(5)]
NOW = Exchange(f"{RULES}turn 5", "turn 5")


def rendered_contents(name: str, past: Sequence[Exchange] = PAST) -> list[str]:
    return [message["content"] for message in parse_context(name).messages(past, NOW)]


def test_full_context_shows_everything_and_the_rules_once() -> None:
    told = rendered_contents("full")
    assert told[0] == "rules. turn 0"
    assert told[1] == "<think>why 0</think><move>b0</move>"
    assert told[2::2] == ["turn 1", "turn 2", "turn 3", "turn 4", "turn 5"]
    assert len(told) == 11


def test_truncated_context_hides_past_thoughts() -> None:
    assert rendered_contents("truncated")[::2] == rendered_contents("full")[::2]
    assert rendered_contents("truncated")[1::2] == [f"<think>[TRUNCATED]</think><move>b{i}</move>" for i in range(5)]


def test_last_n_context_begins_with_the_rules() -> None:
    assert rendered_contents("last-2") == ["rules. turn 3", PAST[3].reply, "turn 4", PAST[4].reply, "turn 5"]
    assert rendered_contents("last-9") == rendered_contents("full")


def test_state_context_shows_only_the_present() -> None:
    assert rendered_contents("state") == ["rules. turn 5"]


@pytest.mark.parametrize("name", ["full", "truncated", "last-1", "last-3", "state"])
@pytest.mark.parametrize("turns", range(5))
def test_roles_alternate_and_rules_come_first(name: str, turns: int) -> None:
    messages = parse_context(name).messages(PAST[:turns], NOW)
    assert [message["role"] for message in messages] == (["user", "assistant"] * 6)[: len(messages)]
    assert messages[-1]["content"].endswith("turn 5")
    assert [message["content"].startswith(RULES) for message in messages] == [True] + [False] * (len(messages) - 1)


@pytest.mark.parametrize(
    ("name", "grows"), [("full", True), ("truncated", False), ("last-1", False), ("last-12", False), ("state", False)]
)
def test_context_reports_whether_history_only_grows(name: str, grows: bool) -> None:
    assert parse_context(name).name == name
    assert parse_context(name).grows is grows
    before: list[Message] = []
    grew = True
    for turns in range(5):
        now = PAST[turns]
        messages = parse_context(name).messages(PAST[:turns], Exchange(now.first, now.later))
        grew = grew and messages[: len(before)] == before
        before = [*messages, {"role": "assistant", "content": str(now.reply)}]
    assert grew or not grows
    if name in ("truncated", "last-1", "state"):
        assert not grew


@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ("b2", "b2"),
        ("<think>a</think>b2", "<think>[TRUNCATED]</think>b2"),
        ("<think>\na\n\nb\n</think>\n\nb2", "<think>[TRUNCATED]</think>\n\nb2"),
        ("<think>never closed", "<think>[TRUNCATED]</think>"),
        ("opened by the template</think>b2", "<think>[TRUNCATED]</think>b2"),
        ("<think>a</think>b2<think>c</think>d", "<think>[TRUNCATED]</think>b2<think>[TRUNCATED]</think>d"),
        ("<think></think>", "<think>[TRUNCATED]</think>"),
        ("[THINK]a[/THINK]\nb2", "<think>[TRUNCATED]</think>b2"),
        ("<think_fast>a</think_fast>b2", "<think>[TRUNCATED]</think>b2"),
        ("◁think▷never closed", "<think>[TRUNCATED]</think>"),
        ("opened by the template[unused17]b2", "<think>[TRUNCATED]</think>b2"),
        ("[Analysis]\nb2", "[Analysis]\nb2"),
        ("", ""),
    ],
)
def test_thoughts_become_a_placeholder(reply: str, left: str) -> None:
    assert hide_thoughts(reply) == left
    assert hide_thoughts(left) == left


@given(
    st.lists(st.sampled_from(["<think>", "secret", "<move>", "\n"])).map("".join), st.text("b2 \n"), st.text("b2 \n")
)
def test_hiding_thoughts_keeps_the_rest(thoughts: str, before: str, move: str) -> None:
    assert hide_thoughts(f"{before}<think>{thoughts}</think>{move}") == f"{before}<think>[TRUNCATED]</think>{move}"
    assert hide_thoughts(f"{before}<think>{thoughts}") == f"{before}<think>[TRUNCATED]</think>"
    assert hide_thoughts(move) == move


def test_unknown_context_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'truncated'"):
        parse_context("truncate")
    for wrong in ("last", "last-0", "last-", "last-x", "last-4 "):
        with pytest.raises(UnknownName, match="Write last-4 for the last four"):
            parse_context(wrong)
    with pytest.raises(BadOption, match="write 'full'"):
        parse_context(4)  # type: ignore[arg-type]


def test_past_exchange_requires_a_reply() -> None:
    with pytest.raises(GymposiumError, match="no reply"):
        parse_context("full").messages([Exchange("a", "b")], NOW)
