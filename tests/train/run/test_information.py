"""The mutual information between prompts and replies."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gymposium_train.credit.protocol import Episode
from gymposium_train.learner.protocol import Pair
from gymposium_train.learner.rows import Row, Span
from gymposium_train.run.information import compute_information_metrics, draw_turns, estimate_information
from gymposium_train.run.reporting import compute_reward_metrics


class TablePolicy:
    """A policy with a given distribution over replies for each prompt. A reply's log-probability is split over its two
    tokens."""

    def __init__(self, table: dict[int, dict[int, float]]) -> None:
        self.table = table

    def score(self, pairs: Sequence[Pair], temperature: float = 1.0) -> list[tuple[float, ...]]:
        assert temperature == 0.7
        return [(math.log(self.table[prompt[0]][reply[0]]) - 1.0, 1.0) for prompt, reply in pairs]

    def information(self) -> float:
        """The exact mutual information, for uniform prompts."""
        mean = {reply: sum(row[reply] for row in self.table.values()) / len(self.table) for reply in self.table[0]}
        terms = [p * math.log(p / mean[reply]) for row in self.table.values() for reply, p in row.items()]
        return math.fsum(terms) / len(self.table)


def make_group(turns: Sequence[tuple[int, int]], rewards: Sequence[float] = (0.0,)) -> list[Episode]:
    """Episodes of one turn each, with a prompt of one token and a reply of two."""
    return [
        Episode(
            rewards=(reward,),
            role="",
            states=((prompt,),),
            reward=SimpleNamespace(total=reward, parts={}),
            rows=(Row((prompt, reply, 99), (Span(1, 3),)),),
        )
        for prompt, reply in turns
        for reward in rewards
    ]


def measure(
    policy: TablePolicy, groups: Sequence[Sequence[Episode]], rng: random.Random, **changed: Any
) -> dict[str, float]:
    options = {"prompts": 8, "longest": 10, "temperature": 0.7, **changed}
    return compute_information_metrics(policy, groups, rng=rng, **options)  # type: ignore[arg-type]


def test_estimate_is_unbiased() -> None:
    policy = TablePolicy({0: {1: 0.7, 2: 0.2, 3: 0.1}, 1: {1: 0.1, 2: 0.6, 3: 0.3}, 2: {1: 0.3, 2: 0.3, 3: 0.4}})
    rng, found = random.Random(1), []
    for _ in range(4000):
        turns = [(prompt, rng.choices([*row], [*row.values()])[0]) for prompt, row in policy.table.items()]
        found.append(measure(policy, [make_group(turns)], rng)["train/mutual_information"])
    assert sum(found) / len(found) == pytest.approx(policy.information(), abs=0.015)
    assert policy.information() > 0.1


def test_replies_that_ignore_the_prompt_have_no_information() -> None:
    """The entropy of the replies is as high as it can be."""
    row = dict.fromkeys(range(4), 0.25)
    policy = TablePolicy(dict.fromkeys(range(5), row))
    metrics = measure(policy, [make_group([(prompt, prompt % 4) for prompt in range(5)])], random.Random(0))
    assert metrics == {
        "train/mutual_information": pytest.approx(0.0, abs=1e-12),
        "train/information_share": pytest.approx(0.0, abs=1e-12),
    }


def test_replies_that_tell_the_prompt_have_all_information() -> None:
    scores = [[0.0 if i == j else -900.0 for i in range(4)] for j in range(4)]
    assert estimate_information(scores) == pytest.approx(math.log(4))


def test_each_prompt_is_drawn_once_with_one_of_its_replies() -> None:
    groups = [make_group([(0, 1), (0, 2), (1, 3)]), make_group([(2, 4), (1, 5)])]
    seen = set()
    for seed in range(40):
        drawn = draw_turns(groups, 2, 10, random.Random(seed))
        assert len({prompt for prompt, _ in drawn}) == 2
        seen |= set(drawn)
    assert seen == {((0,), (1, 99)), ((0,), (2, 99)), ((1,), (3, 99)), ((1,), (5, 99)), ((2,), (4, 99))}
    assert draw_turns(groups, 8, 2, random.Random(0)) == []  # a pair has three tokens


def test_one_prompt_has_no_information() -> None:
    policy = TablePolicy({0: {1: 1.0}})
    assert measure(policy, [make_group([(0, 1)])], random.Random(0)) == {}


def test_spread_of_rewards_within_groups() -> None:
    groups = [make_group([(0, 1)], (1.0, 3.0)), make_group([(0, 1)], (2.0, 2.0)), make_group([(0, 1)], (9.0,))]
    metrics = compute_reward_metrics(groups)
    assert metrics["rollout/reward_variance"] == 0.5  # of 1 and 0
    assert metrics["rollout/equal_rewards"] == 0.5
    assert "rollout/reward_variance" not in compute_reward_metrics(groups[2:])
