"""A small hand-written trainer: REINFORCE with a baseline for each seat, in self-play.

The model is a table: a row of logits for each beginning of a token stream (by a hash), so it can represent every
policy. A seat's conversation in a match is one row of tokens, which grows from turn to turn; a model that does not
remember has one for each turn. A move is one token or two, whichever the model samples. There is a sampler with
separate weights, as an inference engine has, and a KL term towards the first weights.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from gymposium.analysis.exact.graph import build_graph
from gymposium.games.protocol import Game, Match
from gymposium.match.failures import compute_forfeit_returns
from gymposium.util.streams import derive_seed

PAD, END, ASK = 0, 1, 2
TABLE = 4093
TEMPERATURE = 0.8
LEARNING_RATE = 0.05
EPSILON = 1e-3
"""Adam's epsilon. Smaller gradients are not scaled up, so logits of moves that were never sampled stay small."""
MOST_TOKENS = 4
"""Maximum number of tokens in a reply."""


class Vocabulary:
    """The tokens of a game: the words of its observations, its moves, and the two halves of each move."""

    def __init__(self, game: Game) -> None:
        graph = build_graph(game)
        decisions = [position for position in graph.positions if position.seat >= 0]
        texts = {graph.game.load(one.events).observe(one.seat, "compact").text for one in decisions}
        self.moves = sorted({move for one in decisions for move in one.moves})
        halves = {half for move in self.moves for half in self.halves(move)}
        words = sorted({word for text in texts for word in text.split()})
        self.pieces = ["", "", "", *self.moves, *sorted(halves - {*self.moves}), *(f" {word}" for word in words)]
        self.ids = {piece: number for number, piece in enumerate(self.pieces) if piece}

    @staticmethod
    def halves(move: str) -> tuple[str, str]:
        return move[: len(move) // 2], move[len(move) // 2 :]

    def question(self, text: str) -> tuple[int, ...]:
        """Return an observation as tokens."""
        return (*(self.ids[f" {word}"] for word in text.split()), ASK)

    def answer(self, move: str) -> tuple[int, ...]:
        """Return a move as tokens, as a tokenizer would write it."""
        return self.ids[move], END

    def text(self, tokens: Sequence[int]) -> str:
        return "".join(self.pieces[token] for token in tokens)

    def habits(self) -> Tensor:
        """Return initial logits by the previous token, so that an untrained model mostly writes moves."""
        habits = torch.full((len(self.pieces), len(self.pieces)), -9.0, dtype=torch.float64)
        for move in self.moves:
            first, second = (self.ids[half] for half in self.halves(move))
            habits[ASK, self.ids[move]] = 1.0
            habits[ASK, first] = habits[first, second] = habits[self.ids[move], END] = habits[second, END] = 0.0
        return habits


class TablePolicy(nn.Module):
    """Logits of the token that follows each token of padded rows: [B, T] to [B, T, V]."""

    def __init__(self, habits: Tensor, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("habits", habits)
        start = 0.3 * torch.randn((TABLE, len(habits)), dtype=torch.float64, generator=generator)
        self.table = nn.Parameter(start)

    def forward(self, tokens: Tensor) -> Tensor:
        beginnings, place = [], torch.zeros(len(tokens), dtype=torch.long)
        for column in tokens.T:
            place = (place * 48_271 + column + 1) % 2_147_483_647
            beginnings.append(place % TABLE)
        habits: Any = self.habits
        logits: Tensor = self.table[torch.stack(beginnings, dim=1)] + habits[tokens]
        return logits


@dataclass(slots=True)
class Row:
    """The conversation of one seat in one match, or a turn of it."""

    match: int
    seat: int
    tokens: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    reward: float = 0.0
    version: int = 0


@dataclass(slots=True)
class Turn:
    """One reply of the model."""

    seat: int
    prompt: list[int]
    reply: list[int]
    """The sampled tokens."""
    log_probs: list[float]
    move: str | None
    """The move; None if the reply is not a legal move."""


@dataclass(slots=True)
class Episode:
    """One match, with the model's turns."""

    match: Match
    rng: random.Random
    seats: tuple[int, ...]
    version: int
    turns: list[Turn] = field(default_factory=list)
    forfeit: int | None = None
    """The seat that forfeited by a reply that is not a legal move, if any."""

    @property
    def returns(self) -> Sequence[float]:
        so_far = self.match.returns()
        return so_far if self.forfeit is None else compute_forfeit_returns(self.match.game, self.forfeit, so_far)


class Loop:
    """The training loop: play, learn, publish."""

    def __init__(self, game: Game, *, self_play: bool, remembers: bool, seed: int) -> None:
        self.game, self.self_play, self.remembers = game, self_play, remembers
        self.vocabulary = Vocabulary(game)
        self.policy = TablePolicy(self.vocabulary.habits(), torch.Generator().manual_seed(seed))
        self.sampler = copy.deepcopy(self.policy)
        self.reference = copy.deepcopy(self.policy)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=LEARNING_RATE, eps=EPSILON)
        self.version = 0

    # play

    def read(self, match: Match, seat: int, before: Sequence[int]) -> list[int]:
        """Return a seat's prompt: the conversation so far, if the model remembers, and the observation."""
        question = self.vocabulary.question(match.observe(seat, "compact").text)
        return [*before, *question] if self.remembers else [*question]

    def play(self, matches: int, seed: int) -> list[Episode]:
        """Play all matches concurrently."""
        generator = torch.Generator().manual_seed(seed)
        episodes = [self._new(number, derive_seed(seed, number)) for number in range(matches)]
        while live := [one for one in episodes if one.forfeit is None and one.match.to_move()]:
            asked = [(one, seat) for one in live for seat in one.match.to_move() if seat in one.seats]
            prompts = [self.read(one.match, seat, said(one, seat)) for one, seat in asked]
            sampled = self.sample(prompts, generator) if prompts else []
            for (one, seat), prompt, (reply, log_probs) in zip(asked, prompts, sampled, strict=True):
                text = self.vocabulary.text(reply)
                legal = reply[-1] == END and text in (one.match.legal_moves(seat) or ())
                one.turns.append(Turn(seat, prompt, reply, log_probs, text if legal else None))
                if not legal and one.forfeit is None:
                    one.forfeit = seat
            for one in live:
                if one.forfeit is None:
                    one.match.apply({seat: self._move(one, seat) for seat in one.match.to_move()})
        return episodes

    def _new(self, number: int, seed: int) -> Episode:
        seats = (0, 1) if self.self_play else (number % 2,)
        return Episode(self.game.new(seed), random.Random(seed), seats, self.version)

    def _move(self, episode: Episode, seat: int) -> str:
        """Return the move in the seat's last reply, or a random move for a seat that the model does not play."""
        if seat in episode.seats:
            return next(turn.move or "" for turn in reversed(episode.turns) if turn.seat == seat)
        return episode.rng.choice(episode.match.legal_moves(seat) or [""])

    @torch.no_grad()
    def sample(
        self, prompts: Sequence[Sequence[int]], generator: torch.Generator
    ) -> list[tuple[list[int], list[float]]]:
        """Sample a reply to each prompt, with the log-probabilities of its tokens."""
        replies: list[tuple[list[int], list[float]]] = [([], []) for _ in prompts]
        for _ in range(MOST_TOKENS):
            live = [n for n, (reply, _) in enumerate(replies) if not reply or reply[-1] != END]
            if not live:
                break
            rows = [[*prompts[n], *replies[n][0]] for n in live]
            last = torch.tensor([len(row) - 1 for row in rows])
            logits = self.sampler(padded(rows))[torch.arange(len(rows)), last]
            log_probs = torch.log_softmax(logits / TEMPERATURE, dim=-1)
            tokens = torch.multinomial(log_probs.exp(), 1, generator=generator)[:, 0]
            for n, token, found in zip(live, tokens.tolist(), log_probs, strict=True):
                replies[n][0].append(token)
                replies[n][1].append(float(found[token]))
        return replies

    def rows(self, episodes: Sequence[Episode]) -> list[Row]:
        """Return the rows of episodes: one for each seat, or for each turn if the model does not remember."""
        rows: list[Row] = []
        for number, episode in enumerate(episodes):
            for seat in episode.seats:
                row: Row | None = None
                for turn in [turn for turn in episode.turns if turn.seat == seat]:
                    if row is None or not self.remembers:
                        row = Row(number, seat, reward=episode.returns[seat], version=episode.version)
                        rows.append(row)
                    prompt = turn.prompt[len(row.tokens) :]
                    row.tokens += prompt + turn.reply
                    row.mask += [0] * len(prompt) + [1] * len(turn.reply)
                    row.log_probs += [0.0] * len(prompt) + turn.log_probs
        return rows

    # learn

    def step(self, rows: Sequence[Row], kl_weight: float = 0.0) -> None:
        """Take one optimizer step."""
        self.optimizer.zero_grad()
        self.loss(rows, kl_weight).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.version += 1
        self.publish()

    def publish(self) -> None:
        """Copy the weights to the sampler."""
        self.sampler.load_state_dict(self.policy.state_dict())

    def loss(self, rows: Sequence[Row], kl_weight: float) -> Tensor:
        """Return the policy-gradient loss, and the KL term (Schulman's k3 estimator, 2020)."""
        tokens, mask = padded([row.tokens for row in rows]), padded([row.mask for row in rows])
        log_probs = self.log_probs(self.policy, tokens)
        losses = -self.advantages(rows)[:, None] * log_probs
        if kl_weight:
            away = self.log_probs(self.reference, tokens).detach() - log_probs
            losses = losses + kl_weight * (away.exp() - away - 1.0)
        return (losses * mask).sum() / len(rows)

    def log_probs(self, policy: nn.Module, tokens: Tensor) -> Tensor:
        """Return the log-probability of each token given those before it: [B, T]; 0 for the first."""
        found = torch.log_softmax(policy(tokens[:, :-1]) / TEMPERATURE, dim=-1)
        picked = found.gather(-1, tokens[:, 1:, None])[..., 0]
        return torch.cat([torch.zeros_like(picked[:, :1]), picked], dim=1)

    def advantages(self, rows: Sequence[Row]) -> Tensor:
        """Return the rewards minus the mean reward of the same seat."""
        rewards = torch.tensor([row.reward for row in rows], dtype=torch.float64)
        seats = torch.tensor([row.seat for row in rows])
        for seat in (0, 1):
            if (seats == seat).any():
                rewards[seats == seat] -= rewards[seats == seat].mean()
        return rewards


def said(episode: Episode, seat: int) -> list[int]:
    """Return a seat's prompts and replies so far."""
    last = next((turn for turn in reversed(episode.turns) if turn.seat == seat), None)
    return [] if last is None else last.prompt + last.reply


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return rows of different lengths as a tensor, padded on the right."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
