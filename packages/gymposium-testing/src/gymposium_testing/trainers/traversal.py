"""Compute a model's exact policy gradient in a small game, by traversal.

The gradient of the mean return is a sum over states and replies (the policy gradient theorem: Sutton et al., 2000,
Policy Gradient Methods for Reinforcement Learning with Function Approximation, theorem 1). Each term is the probability
of the state and the reply, times the reply's mean return, times the gradient of its log-probability. A state is the
model's prompt, so two spellings of a move lead to two states.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gymposium.analysis.exact.graph import OVER, build_graph
from gymposium.games.protocol import CHANCE
from gymposium.match.failures import compute_forfeit_returns
from gymposium_testing.trainers.protocol import ReadingModel, TokenIds, TrainerTask, TrainingModel

PromptedReply = tuple[TokenIds, TokenIds]
"""A prompt with a reply to it."""


@dataclass(slots=True)
class _Node:
    """A position with the model's prompt and replies."""

    seat: int
    returns: tuple[float, ...]
    children: list[int] = field(default_factory=list)
    odds: list[float] = field(default_factory=list)
    """Probability of each child; empty if the model moves here."""
    prompt: TokenIds | None = None
    """The model's prompt; None if the model does not move here."""
    replies: list[TokenIds] = field(default_factory=list)
    """The reply that leads to each child; empty if the model does not move here."""
    forfeit: tuple[float, ...] = ()


class GameTree:
    """All positions that a model can reach with any weights, with its prompts and replies."""

    def __init__(self, task: TrainerTask, model: ReadingModel) -> None:
        self._graph, self._model = build_graph(task.game), model
        self._read: dict[tuple[int, str, TokenIds], TokenIds] = {}
        self._trees: list[list[_Node]] = []
        self.prompts: dict[tuple[int, str], TokenIds] = {}
        """A prompt for each information state, by seat and view."""
        self.answers: dict[TokenIds, list[TokenIds]] = {}
        """The replies that play a legal move, by prompt."""
        for seats in ((0, 1),) if task.opponent == "self" else ((0,), (1,)):
            nodes: list[_Node] = []
            self._grow(nodes, 0, dict.fromkeys(seats, ()))
            self._trees.append(nodes)

    def _grow(self, nodes: list[_Node], position_number: int, before: dict[int, TokenIds]) -> int:
        position, number = self._graph.positions[position_number], len(nodes)
        node = _Node(position.seat, position.returns)
        nodes.append(node)
        if position.seat == OVER:
            return number
        if position.seat in before:
            seat = position.seat
            key = (seat, position.view, before[seat])
            if key not in self._read:
                self._read[key] = self._model.read(self._graph.game.load(position.events), seat, before[seat])
            prompt = node.prompt = self._read[key]
            self.prompts.setdefault((seat, position.view), prompt)
            node.forfeit = compute_forfeit_returns(self._graph.game, seat, position.returns)
            for move, child in zip(position.moves, position.children, strict=True):
                for reply in self._model.replies(move):
                    node.replies.append(reply)
                    node.children.append(self._grow(nodes, child, {**before, seat: prompt + reply}))
            self.answers[prompt] = node.replies
            return number
        count = len(position.moves)
        node.odds = [*position.odds] if position.seat == CHANCE else [1.0 / count] * count
        node.children = [self._grow(nodes, child, before) for child in position.children]
        return number

    def compute_probabilities(self, model: TrainingModel) -> dict[PromptedReply, float]:
        """Return the probability, at the model's current weights, of each reply that plays a move."""
        answers = [(prompt, reply) for prompt, replies in self.answers.items() for reply in replies]
        scored = model.log_probs([prompt + reply for prompt, reply in answers])
        return {
            (prompt, reply): math.exp(math.fsum(found[len(prompt) :]))
            for (prompt, reply), found in zip(answers, scored, strict=True)
        }

    def compute_reach(self, odds: dict[PromptedReply, float]) -> dict[TokenIds, float]:
        """Return the mean number of times per match that the model reads each prompt."""
        found: defaultdict[TokenIds, float] = defaultdict(float)
        for nodes in self._trees:
            for node, reach in zip(nodes, _compute_reaches(nodes, odds), strict=True):
                if node.prompt is not None:
                    found[node.prompt] += reach / len(self._trees)
        return dict(found)

    def compute_coefficients(self, odds: dict[PromptedReply, float]) -> dict[PromptedReply, float]:
        """Return the factor of each reply's log-probability gradient in the exact policy gradient.

        The objective is a match's mean return, summed over the model's seats. Replies without a move forfeit."""
        found: defaultdict[PromptedReply, float] = defaultdict(float)
        for nodes in self._trees:
            worth = _compute_values(nodes, odds)
            for node, reach in zip(nodes, _compute_reaches(nodes, odds), strict=True):
                if node.prompt is None:
                    continue
                for reply, child in zip(node.replies, node.children, strict=True):
                    # the gain over a forfeit, since replies that play no move forfeit
                    gain = worth[child][node.seat] - node.forfeit[node.seat]
                    answer = node.prompt, reply
                    found[answer] += reach * odds[answer] * gain / len(self._trees)
        return dict(found)


def _list_chances(node: _Node, odds: dict[PromptedReply, float]) -> Iterator[tuple[int, float]]:
    prompt = node.prompt
    chances = node.odds if prompt is None else [odds[prompt, reply] for reply in node.replies]
    return zip(node.children, chances, strict=True)


def _compute_reaches(nodes: Sequence[_Node], odds: dict[PromptedReply, float]) -> list[float]:
    reach = [0.0] * len(nodes)
    reach[0] = 1.0
    for node, here in zip(nodes, reach, strict=True):  # nodes come before their children
        for child, chance in _list_chances(node, odds):
            reach[child] += here * chance
    return reach


def _compute_values(nodes: Sequence[_Node], odds: dict[PromptedReply, float]) -> list[tuple[float, ...]]:
    worth = [node.returns for node in nodes]
    for number in reversed(range(len(nodes))):
        node = nodes[number]
        if node.seat == OVER:
            continue
        mean = [0.0] * len(node.returns)
        rest = 1.0
        for child, chance in _list_chances(node, odds):
            mean = [m + chance * w for m, w in zip(mean, worth[child], strict=True)]
            rest -= chance
        if node.prompt is not None:
            mean = [m + rest * w for m, w in zip(mean, node.forfeit, strict=True)]
        worth[number] = tuple(mean)
    return worth
