"""The mutual information between prompts and replies, which falls if a policy stops reading its prompts.

A policy that gives every prompt the same mixture of replies may keep a high entropy ("template collapse" in RAGEN-2).
The information shows it: it is the part of the replies' entropy that the prompts explain.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from gymposium_train.credit.protocol import Episode
from gymposium_train.learner import Learner
from gymposium_train.learner.protocol import Pair
from gymposium_train.learner.rows import Tokens


def compute_information_metrics(
    learner: Learner,
    groups: Sequence[Sequence[Episode]],
    *,
    prompts: int,
    longest: int,
    temperature: float,
    rng: random.Random,
) -> dict[str, float]:
    """Estimate the mutual information on up to this many prompts of the groups, each with one reply. Each reply is
    scored under each prompt. Pairs of more than `longest` tokens are left out. Empty for fewer than two prompts."""
    drawn = draw_turns(groups, prompts, longest, rng)
    if len(drawn) < 2:
        return {}
    pairs = [(prompt, reply) for prompt, _ in drawn for _, reply in drawn]
    totals = iter([math.fsum(scores) for scores in learner.score(pairs, temperature)])
    scores = [[next(totals) for _ in drawn] for _ in drawn]
    information = estimate_information(scores)
    return {
        "train/mutual_information": information,
        "train/information_share": information / math.log(len(drawn)),
    }


def estimate_information(scores: Sequence[Sequence[float]]) -> float:
    """Estimate the mutual information in nats. `scores[j][i]` is the log-probability of reply i under prompt j, and
    reply i was sampled under prompt i.

    The estimate is the mean over i of log p(reply i | prompt i) - log mean_j p(reply i | prompt j). It is unbiased for
    a prompt drawn uniformly from these ones, because the mean over j is the replies' exact distribution."""
    count = len(scores)
    total = 0.0
    for i in range(count):
        of_reply = [scores[j][i] for j in range(count)]
        highest = max(of_reply)
        mean = highest + math.log(math.fsum(math.exp(score - highest) for score in of_reply) / count)
        total += scores[i][i] - mean
    return total / count


def draw_turns(groups: Sequence[Sequence[Episode]], most: int, longest: int, rng: random.Random) -> list[Pair]:
    """Draw up to `most` different prompts uniformly, and a reply to each. Prompts come in order of appearance."""
    replies: dict[Tokens, list[Tokens]] = {}
    for group in groups:
        for row in (row for episode in group for row in episode.rows):
            for span in row.spans:
                if span.start < span.stop:
                    replies.setdefault(row.ids[: span.start], []).append(row.ids[span.start : span.stop])
    lengthiest = max((len(reply) for some in replies.values() for reply in some), default=0)
    prompts = [prompt for prompt in replies if len(prompt) + lengthiest <= longest]
    drawn = sorted(rng.sample(range(len(prompts)), min(most, len(prompts))))
    return [(prompts[number], rng.choice(replies[prompts[number]])) for number in drawn]
