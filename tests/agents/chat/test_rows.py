"""Rows hold exactly the tokens that were read and sampled, merged or not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st
from transformers import PreTrainedTokenizerFast

from gymposium.errors import GymposiumError
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.rows import TokenRow, make_token_rows
from gymposium_agents.chat.tokens import BASE, Completion, TurnTokens

IDS = st.integers(0, 5)


def turn(prompt: tuple[int, ...], sampled: tuple[int, ...]) -> TurnTokens:
    logprobs = tuple(-0.5 - i for i in range(len(sampled)))
    return TurnTokens(prompt, Completion(sampled, logprobs, "stop", BASE))


@st.composite
def trajectories(draw: st.DrawFn) -> tuple[list[TurnTokens], list[bool]]:
    """Turns, and for each whether it continues the one before."""
    turns: list[TurnTokens] = []
    goes_on: list[bool] = []
    for _ in range(draw(st.integers(1, 6))):
        more = tuple(draw(st.lists(IDS, max_size=3)))
        grown = bool(turns) and draw(st.booleans())
        before = (*turns[-1].prompt, *turns[-1].completion.ids) if grown else (9, len(turns))
        turns.append(turn((*before, *more), tuple(draw(st.lists(IDS, max_size=4)))))
        goes_on.append(grown)
    return turns, goes_on


@given(trajectories())
def test_rows_hold_read_and_sampled_tokens(made: tuple[list[TurnTokens], list[bool]]) -> None:
    turns, goes_on = made
    rows = make_token_rows(turns)
    assert len(rows) == goes_on.count(False)
    for row in rows:
        assert len(row.ids) == len(row.mask) == len(row.logprobs) == len(row.turns)
        assert row.mask[0] == 0
        assert [logprob for logprob, sampled in zip(row.logprobs, row.mask, strict=True) if not sampled] == [
            0.0
        ] * row.mask.count(0)
        assert [t == -1 for t in row.turns] == [sampled == 0 for sampled in row.mask]
    assert sum(sum(row.mask) for row in rows) == sum(len(t.completion.ids) for t in turns)
    row_of = [sum(not grown for grown in goes_on[: i + 1]) - 1 for i in range(len(turns))]
    for index, given_turn in enumerate(turns):
        row = rows[row_of[index]]
        places = [i for i, owner in enumerate(row.turns) if owner == index]
        assert tuple(row.ids[i] for i in places) == given_turn.completion.ids
        assert tuple(row.logprobs[i] for i in places) == given_turn.completion.logprobs
        if places:  # the tokens before the first sampled token are the whole prompt
            assert row.ids[: places[0]] == given_turn.prompt
            assert places == list(range(places[0], places[-1] + 1))


def test_turns_merge_only_if_prompts_extend_them() -> None:
    one, other = turn((1, 2), (3, 4)), turn((1, 2, 3, 5), (6,))
    assert [row.ids for row in make_token_rows([one, other])] == [(1, 2, 3, 4), (1, 2, 3, 5, 6)]
    merged = make_token_rows([one, turn((1, 2, 3, 4, 7), (6,))])
    assert merged == [
        TokenRow((1, 2, 3, 4, 7, 6), (0, 0, 1, 1, 0, 1), (0.0, 0.0, -0.5, -1.5, 0.0, -0.5), (-1, -1, 0, 0, -1, 1))
    ]
    assert [row.ids for row in make_token_rows([one, turn((1, 2, 3), (6,))])] == [(1, 2, 3, 4), (1, 2, 3, 6)]


def test_no_turns_make_no_rows() -> None:
    assert make_token_rows([]) == []


def test_refuses_incomplete_turns() -> None:
    with pytest.raises(GymposiumError, match="Turn 1 has no prompt"):
        make_token_rows([turn((1,), (2,)), turn((), (2,))])
    with pytest.raises(GymposiumError, match="2 sampled tokens but 1 log-prob"):
        make_token_rows([TurnTokens((1,), Completion((2, 3), (-1.0,), "stop", BASE))])


REPLIES = st.sampled_from(["b2", "", "\n b2 ", "<think>\nhm\n</think>\n\nb2", "b2<|im_end|>", "é"])


@pytest.mark.parametrize(("family", "rows_for_all"), [("qwen2.5", True), ("llama3", True), ("qwen3", False)])
@given(turns=st.lists(st.tuples(st.text("b2 \n<|"), REPLIES, st.booleans()), min_size=2, max_size=4))
@settings(max_examples=30)
def test_rewritten_history_splits_rows(
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
    family: str,
    rows_for_all: bool,
    turns: list[tuple[str, str, bool]],
) -> None:
    """One row where the template lets the conversation grow, one for each turn where it rewrites it; the
    sampled tokens of each turn decode to its raw reply."""
    chat = Chat(family_tokenizer(family))
    played: list[TurnTokens] = []
    messages: list[dict[str, str]] = []
    ended_last = True
    for text, reply, ended in turns:
        messages.append({"role": "user", "content": text})
        if played and chat.grows("user"):
            before = played[-1]
            prompt = (*before.prompt, *before.completion.ids, *chat.more(text, ended=ended_last))
        else:
            prompt = chat.conversation(messages)
        played.append(turn(prompt, chat.reply(reply) if ended else chat.plain(reply)))
        messages.append({"role": "assistant", "content": reply})
        ended_last = ended
    rows = make_token_rows(played)
    assert len(rows) == (1 if rows_for_all else len(turns))
    for index, each in enumerate(played):
        sampled = [i for row in rows for i, owner in zip(row.ids, row.turns, strict=True) if owner == index]
        assert tuple(sampled) == each.completion.ids
        assert chat.read(tuple(sampled)) == turns[index][1]
