"""Rows are kept completely or left out, and numbers for credit add up."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.grammar import make_reward
from gymposium.rewards.protocol import Reward
from gymposium_agents.chat.tokens import BASE, Completion, Sampling, TurnTokens
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.credit.protocol import Episode, assign_advantages
from gymposium_train.learner.rows import fill_spans
from gymposium_train.rollout import Group
from gymposium_train.rollout.samples import annotate_episode, make_episodes, next_prompt, rows_to_learn, weigh_turns

_RANDOM = FailurePolicy.parse("random")
NUMBERS = st.floats(-5.0, 5.0)
TURNS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5), st.booleans()), min_size=1, max_size=5)
"""So many tokens read, so many sampled, and whether the history grew."""


def traces(turns: list[tuple[int, int, bool]], key: int) -> list[TurnTokens]:
    made: list[TurnTokens] = []
    for n, (read, sampled, grown) in enumerate(turns):
        before = (*made[-1].prompt, *made[-1].completion.ids) if made and grown else (key, n)
        prompt, ids = (*before, *(7,) * read), (3,) * sampled
        made.append(TurnTokens(prompt, Completion(ids, (-0.5,) * sampled, "stop", BASE)))
    return made


def make(turns: list[tuple[int, int, bool]], key: int = 0, reward: Reward | None = None) -> Episode:
    game = load_game("kuhn_poker")
    (played,) = play([MatchJob("m", game, [make_player("random"), make_player("random")], key)])
    trajectory = Trajectory.from_match(played, 0)
    given = [replace(trajectory.turns[0], trace=trace) for trace in traces(turns, key)]
    trajectory = Trajectory(game=game, seat=0, turns=given, events=trajectory.events, utilities=trajectory.utilities)
    (episode,) = make_episodes(Group(role="seat 0", trajectories=[trajectory], rewards=(reward or Reward(1.0),)))
    return episode


@given(st.lists(TURNS, min_size=1, max_size=5), st.integers(2, 40), st.sampled_from(["token", "turn", "sequence"]))
def test_too_long_rows_are_dropped_not_truncated(
    given_turns: list[list[tuple[int, int, bool]]], longest: int, aggregate: str
) -> None:
    made = [make(turns, key) for key, turns in enumerate(given_turns)]
    groups = [assign_advantages([one], [(1.0,) * len(one.rewards)]) for one in made]
    tied = [made[0]]
    weighed = weigh_turns([tied, *groups], aggregate, longest)  # type: ignore[arg-type]
    kept = rows_to_learn(weighed)
    rows = [row for one in made for row in one.rows]
    assert [row.ids for row in kept] == [row.ids for row in rows if len(row.ids) <= longest]
    # what is left out is in no denominator either
    weights = [span.weight * len(span) for row in kept for span in row.spans]
    assert math.fsum(weights) == pytest.approx(1.0 if kept else 0.0)
    left_out = [row for one in weighed[1:] for row in one[0].rows if len(row.ids) > longest]
    assert all(span.weight == 0.0 for row in left_out for span in row.spans)
    assert weighed[0] == tied


@given(st.lists(TURNS, min_size=1, max_size=4), st.sampled_from(["token", "turn", "sequence"]), st.data())
def test_masked_replies_have_no_weight(
    given_turns: list[list[tuple[int, int, bool]]], aggregate: str, data: st.DataObject
) -> None:
    made = [make(turns, key) for key, turns in enumerate(given_turns)]
    cut = []
    for turn in (turn for one in made for turn in one.trajectory.turns):
        cut.append(data.draw(st.booleans()))
        turn.trace.completion.finish_reason = "length" if cut[-1] else "stop"
    groups = [assign_advantages([one], [(1.0,) * len(one.rewards)]) for one in made]
    weighed = weigh_turns(groups, aggregate, 10_000, mask_cut_off=True)  # type: ignore[arg-type]
    spans = [span for group in weighed for one in group for span in one.spans]
    assert [span.weight == 0.0 for span in spans] == cut
    assert math.fsum(span.weight * len(span) for span in spans) == pytest.approx(0.0 if all(cut) else 1.0)
    unmasked = weigh_turns(groups, aggregate, 10_000)  # type: ignore[arg-type]
    assert all(span.weight > 0.0 for group in unmasked for one in group for span in one.spans)


@given(TURNS, st.data(), st.floats(0.01, 1.0), st.booleans())
def test_k1_penalty_is_subtracted_from_rewards(
    turns: list[tuple[int, int, bool]], data: st.DataObject, weight: float, split: bool
) -> None:
    parts = tuple(data.draw(NUMBERS) for _ in turns)
    reward = Reward(math.fsum(parts), turns=parts) if split else Reward(2.0)
    one = make(turns, reward=reward)
    old, reference = ([tuple(data.draw(NUMBERS) for _ in range(len(span))) for span in one.spans] for _ in range(2))
    rows = fill_spans(one.rows, old=old, reference=reference)
    plain, charged = annotate_episode(one, rows, critic=False), annotate_episode(one, rows, critic=False, k1=weight)
    assert math.fsum(plain.rewards) == pytest.approx(reward.total)
    if not split:
        assert plain.rewards[:-1] == (0.0,) * (len(turns) - 1)
    for span, without, with_k1 in zip(plain.spans, plain.rewards, charged.rewards, strict=True):
        apart = math.fsum(span.old) - math.fsum(span.reference)
        assert with_k1 == pytest.approx(without - weight * apart)
    assert plain.values == ()
    assert [len(ids) for ids in plain.states] == [span.start for span in one.spans]


def test_every_turn_gets_its_own_credit() -> None:
    one = make([(2, 1, False), (1, 2, True), (3, 1, False)])
    credited = assign_advantages([one], [(0.5, -1.0, 2.0)], [(1.0, 2.0, 3.0)])
    ((taught,),) = weigh_turns([credited], "token", 100)
    assert [(span.advantage, span.target) for span in taught.spans] == [(0.5, 1.0), (-1.0, 2.0), (2.0, 3.0)]
    assert {span.weight for span in taught.spans} == {0.25}
    assert {(span.advantage, span.weight) for span in one.spans} == {(0.0, 0.0)}, "what it was made from stays"


def test_only_truncated_ends_bootstrap_from_the_critic(tiny: LoadedModel) -> None:
    """Matches that end because the model's context is full, and matches that end by the rules."""
    game, found = load_game("tic_tac_toe"), set()
    reward = make_reward("returns")
    for room in (10_000, 70):
        engine = tiny.engine()
        engine.context = room
        sampling = Sampling(1.0, 4)
        player = LanguageModelPlayer("lm:any", engine, tiny.chat, sampling=sampling, context="full")
        jobs = [MatchJob(f"m{n}", game, [player, make_player("random")], n, on_illegal=_RANDOM) for n in range(4)]
        for played in play(jobs):
            trajectory = Trajectory.from_match(played, 0)
            (rated,) = reward((trajectory,))
            found.add(trajectory.truncated)
            if not trajectory.turns:
                continue
            (one,) = make_episodes(Group(role="seat 0", trajectories=[trajectory], rewards=(rated,)))
            after = 0.0
            prompt = next_prompt(one)
            assert (prompt is not None) == trajectory.truncated
            if prompt is not None:
                after = 0.25
                assert len(prompt) >= room
                last = trajectory.turns[-1].trace
                assert prompt[: len(last.prompt)] == last.prompt
            episode = annotate_episode(one, one.rows, critic=True, after=after)
            assert episode.after == after
            # a critic says what it could still have earned; without one, the forfeit stands for it
            assert math.fsum(episode.rewards) == pytest.approx(rated.total - rated.cut)
            without = annotate_episode(one, one.rows, critic=False)
            assert math.fsum(without.rewards) == pytest.approx(rated.total)
            assert (rated.cut != 0.0) == trajectory.truncated
    assert found == {True, False}
