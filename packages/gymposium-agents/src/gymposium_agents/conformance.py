"""Building blocks for adapters to the trainer conformance kit (`gymposium_testing.trainers`). They provide a small
language model that mostly plays legal moves, its input, and the gradients of its log-probabilities."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gymposium.analysis.exact.graph import build_graph
from gymposium.games.protocol import Event, Match
from gymposium.match import Turn
from gymposium.players.protocol import Ask
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader
from gymposium.util.streams import stream
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.context import Exchange, parse_context
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import BASE, Completion, TurnTokens
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_agents.models.small import make_small_model
from gymposium_agents.players.conversation import Conversation, Dialogue
from gymposium_testing.trainers import (
    ReadingModel,
    SampledReply,
    TokenIds,
    TrainedMatch,
    TrainerTask,
    TrainingModel,
    Vector,
    find_spellings,
)
from gymposium_testing.trainers.traversal import GameTree

STEPPING = SmallModel(hidden=32, layers=1, heads=2, feed_forward=64, vocabulary=320, context=512)
TRAINING = SmallModel(hidden=64, layers=2, heads=4, feed_forward=128, vocabulary=1024, context=512)
"""Model sizes for single steps, whose gradients are compared, and for training runs. The smaller one does not learn to
attend to its cards on every seed. A larger vocabulary halves the length of rows."""
SETTINGS = PlayerSettings("compact", "move", max_tokens=8, context="full", temperature=1.0)
"""The settings of the model's players. With `context="state"`, the model does not remember earlier turns."""
SHARES = (0.7, 0.3)
"""Shares of the imitated replies that write a move in its usual tokens, and in its second most usual tokens."""
IMITATION_RATE, IMITATED_AT_ONCE = 6e-3, 32
MUCH, LITTLE = 300, 80
"""Numbers of imitation steps. After many, nearly all replies are legal moves. After few, the model learns sooner from
rewards."""


class ModelReader:
    """A model's input and its ways of writing moves (a `ReadingModel`)."""

    def __init__(self, task: TrainerTask, chat: Chat, context_name: str = "full") -> None:
        self._chat, self._dialogue = chat, Dialogue(chat, parse_context(context_name))
        self._prompt = get_prompt(task.game, SETTINGS.style, get_reader(SETTINGS.reply))
        self.remembers = self._dialogue.context.remembers
        """Whether a seat reads its earlier turns."""
        self._pieces = [chat.read((number,)) for number in range(len(chat.tokenizer))]

    def read(self, match: Match, seat: int, before: TokenIds) -> TokenIds:
        """Return the tokens that a seat reads before its reply."""
        now = Exchange.showing(match.observe(seat, SETTINGS.style), self._prompt)
        so_far = Conversation()
        if before and self.remembers:
            so_far.past.append(Exchange("", "", reply=""))
            so_far.last = TurnTokens(before[:-1], Completion(before[-1:], (0.0,), "stop", BASE))
        return self._dialogue.prompt(so_far, now)

    def replies(self, move: str) -> list[TokenIds]:
        """Return every way to write a move in tokens."""
        return find_spellings(move, self._pieces, self._chat.end)


def make_small_player_model(
    task: TrainerTask,
    seed: int,
    context_name: str = "full",
    *,
    size: SmallModel = STEPPING,
    imitation: int = MUCH,
    spread: float = 0.0,
) -> LoadedModel:
    """Make a small model that imitates random play in a task, and writes some moves in unusual tokens. Its weights
    follow from the seed.

    Random play is uniform by default. With a `spread`, log-odds from `-spread` to `spread` are drawn for each reply to
    each prompt. The model then learns to distinguish prompts before it is trained, as pretrained models do, and still
    tries every move."""
    decisions = [position for position in build_graph(task.game).positions if position.seat >= 0]
    prompt = get_prompt(task.game, SETTINGS.style, get_reader(SETTINGS.reply))
    texts = [prompt(task.game.load(one.events).observe(one.seat, SETTINGS.style)) for one in decisions]
    moves = [*chain.from_iterable(one.moves for one in decisions)]
    with tempfile.TemporaryDirectory() as scratch:
        make_small_model(Path(scratch), texts, seed=seed, size=size, moves=moves)
        loaded = load_model(Path(scratch))
    loaded.model.requires_grad_(True)
    model = ModelReader(task, loaded.chat, context_name)
    usual = {reply: share for move in {*moves} for reply, share in zip(model.replies(move), SHARES, strict=False)}
    drawn = stream(seed, "imitated")
    imitated: dict[tuple[TokenIds, TokenIds], float] = {}
    for prompt_ids, replies in _list_replies(task, model).items():
        weights = {
            reply: usual[reply] * math.exp(drawn.uniform(-spread, spread)) for reply in replies if reply in usual
        }
        total = sum(weights.values())
        imitated |= {(prompt_ids, reply): weight / total for reply, weight in weights.items()}
    _imitate(loaded, imitated, imitation, seed)
    return loaded


def make_trained_match(events: Sequence[Event], turns: Sequence[Turn]) -> TrainedMatch:
    """Convert a finished match to the kit's format. `turns` are those of the match, or only those of the model."""
    moves = {seat: iter([event.move for event in events if event.seat == seat]) for seat in (0, 1)}
    replies = [
        SampledReply(turn.seat, turn.trace.completion.ids, next(moves[turn.seat]) if turn.reading == "move" else None)
        for turn in turns
        if isinstance(turn.trace, TurnTokens)
    ]
    return TrainedMatch(tuple(events), tuple(replies))


class _UsualReplies:
    """A `ReadingModel` that writes each move only in its usual tokens."""

    def __init__(self, model: ReadingModel) -> None:
        self.read, self._replies = model.read, model.replies

    def replies(self, move: str) -> Sequence[TokenIds]:
        return self._replies(move)[:1]


class MovesByContext:
    """The move probabilities of a model that remembers its earlier turns (a `MovePolicy`). Those turns are assumed to
    be written in the usual tokens."""

    def __init__(self, task: TrainerTask, model: TrainingModel) -> None:
        self._model, self._prompts = model, GameTree(task, _UsualReplies(model)).prompts

    def __call__(self, ask: Ask) -> list[float]:
        prompt = self._prompts[ask.seat, ask.view]
        replies = [self._model.replies(move) for move in ask.legal_moves or ()]
        scored = iter(self._model.log_probs([prompt + reply for of_move in replies for reply in of_move]))
        return [sum(math.exp(math.fsum(next(scored)[len(prompt) :])) for _ in of_move) for of_move in replies]


def compute_log_probs(model: torch.nn.Module, row: TokenIds) -> Tensor:
    """Return the log-probability of each token of a row given the preceding tokens, at temperature 1. The first token
    has 0."""
    logits = model(input_ids=torch.tensor([row])).logits[0, :-1]
    found = torch.log_softmax(logits, dim=-1).gather(1, torch.tensor(row[1:])[:, None])[:, 0]
    return torch.cat([torch.zeros(1), found])


def flatten_gradients(parameters: Iterable[torch.nn.Parameter], gradients: Iterable[Tensor | None]) -> Vector:
    """Flatten gradients into one vector. None stands for zeros."""
    parts = [
        np.zeros(parameter.numel()) if gradient is None else gradient.detach().flatten().double().numpy()
        for parameter, gradient in zip(parameters, gradients, strict=True)
    ]
    return np.concatenate(parts)


def compute_reply_gradient(
    model: torch.nn.Module, parameters: Sequence[torch.nn.Parameter], prompt: TokenIds, reply: TokenIds
) -> Vector:
    """Return the gradient of a reply's log-probability with respect to these parameters."""
    total = compute_log_probs(model, prompt + reply)[len(prompt) :].sum()
    return flatten_gradients(parameters, torch.autograd.grad(total, parameters, allow_unused=True))


def _list_replies(task: TrainerTask, model: ModelReader) -> Mapping[TokenIds, Sequence[TokenIds]]:
    """Return all replies that play a move, by the prompts of all positions."""
    if model.remembers:
        return GameTree(task, model).answers
    graph = build_graph(task.game)
    return {
        model.read(task.game.load(one.events), one.seat, ()): [*chain.from_iterable(map(model.replies, one.moves))]
        for one in graph.positions
        if one.seat >= 0
    }


def _imitate(loaded: LoadedModel, imitated: dict[tuple[TokenIds, TokenIds], float], steps: int, seed: int) -> None:
    """Teach a model these replies. Each step draws some of them, in proportion to their weights."""
    rows = [prompt + reply for prompt, reply in imitated]
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[loaded.pad] * (longest - len(row))] for row in rows])
    attention = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    in_reply = torch.zeros(ids.shape)
    for number, (prompt, reply) in enumerate(imitated):
        in_reply[number, len(prompt) : len(prompt) + len(reply)] = 1.0
    weights = torch.tensor([*imitated.values()])
    optimizer = torch.optim.AdamW(loaded.model.parameters(), lr=IMITATION_RATE, betas=(0.9, 0.98), weight_decay=0.0)
    drawn = torch.Generator().manual_seed(seed)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = IMITATION_RATE * (1.0 - step / steps)
        optimizer.zero_grad()
        some = torch.multinomial(weights, IMITATED_AT_ONCE, replacement=True, generator=drawn)
        logits = loaded.model(input_ids=ids[some], attention_mask=attention[some]).logits[:, :-1]
        losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[some, 1:], reduction="none")
        ((losses * in_reply[some, 1:]).sum() / in_reply[some].sum()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    optimizer.zero_grad()
