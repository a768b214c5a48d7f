"""Move probabilities match enumerated replies and sampled replies."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.players.protocol import Ask, MatchContext
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader, read_reply
from gymposium_agents.chat.tokens import Sampling
from gymposium_agents.modeling.forward import compute_completion_logits
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_agents.players.distribution import (
    compute_move_distributions,
    estimate_distributions,
    find_continuations,
    split_probabilities,
)
from gymposium_agents.players.player import LanguageModelPlayer

GAME = load_game("tic_tac_toe")  # its moves are one token each


def asks(game: Game, count: int) -> Iterator[Ask]:
    """Positions of random matches, each from the seat to move."""
    rng = random.Random(1)
    for seed in range(count):
        match = game.new(seed)
        for _ in range(rng.randrange(3)):
            (seat,) = match.to_move()
            moved = match.fork(rng)
            moved.apply({seat: rng.choice(match.legal_moves(seat) or [])})
            if moved.to_move():
                match = moved
        (seat,) = match.to_move()
        yield MatchContext(match, f"m{seed}", seed).ask(seat)


@pytest.fixture(scope="module")
def taught(model_directory: Path) -> LoadedModel:
    """A model trained for a few steps to answer with moves, so that legal moves are neither certain nor rare."""
    loaded = load_model(model_directory)
    chat, how, pairs = loaded.chat, get_reader("move"), []
    for ask in asks(GAME, 30):
        observation = ask.observe("compact")
        prompt = chat.prompt(get_prompt(GAME, "compact", how)(observation))
        pairs += [(prompt, chat.reply(move)) for move in observation.legal_moves or ()]
    optimizer = torch.optim.AdamW(loaded.model.parameters(), lr=3e-3)
    for _ in range(24):
        logits, tokens, mask = compute_completion_logits(loaded.model, list(dict.fromkeys(pairs)), loaded.pad)
        scores = torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[..., 0]
        optimizer.zero_grad()
        (-(scores * mask).sum() / mask.sum()).backward()
        optimizer.step()
    return loaded


def make_player(
    loaded: LoadedModel, temperature: float, max_tokens: int = 2, reply: str = "move"
) -> LanguageModelPlayer:
    sampling = Sampling(temperature, max_tokens)
    return LanguageModelPlayer("lm:taught", loaded.engine(), loaded.chat, sampling=sampling, reply=reply)


def enumerate_replies(loaded: LoadedModel, player: LanguageModelPlayer, ask: Ask) -> dict[tuple[int, ...], float]:
    """The probability of each reply of at most two tokens that ends, by plain passes of the model."""
    prompt, stops = player.prompt(ask), player.engine.stops  # type: ignore[attr-defined]
    size = loaded.model.config.vocab_size

    def after(rows: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return torch.softmax(loaded.model(rows).logits[:, -1].float() / player.sampling.temperature, dim=-1)

    first = after(torch.tensor([prompt]))[0]
    second = after(torch.cat([torch.tensor([prompt]).expand(size, -1), torch.arange(size)[:, None]], dim=1))
    replies = {(stop,): first[stop].item() for stop in stops}
    for token in set(range(size)) - stops:
        replies |= {(token, stop): (first[token] * second[token, stop]).item() for stop in stops}
    return replies


def read_as(player: LanguageModelPlayer, ask: Ask, ids: tuple[int, ...]) -> str | None:
    reading = read_reply(player.chat.read(ids), ask.legal_moves, player.reader, ask.game.move_pattern)
    return reading.move if reading.kind == "move" else None


@pytest.mark.parametrize("temperature", [0.6, 1.0])
def test_distribution_matches_enumeration(taught: LoadedModel, temperature: float) -> None:
    player = make_player(taught, temperature)
    for ask in asks(GAME, 6):
        found, legal = player.distribution(ask), ask.legal_moves or []
        replies = enumerate_replies(taught, player, ask)
        canonical = {move: replies[player.chat.reply(move)] for move in legal}
        mass = sum(canonical.values())
        assert found.samples is None
        assert not found.exact, "a policy over legal moves alone is not the agent that also plays others"
        assert found.moves == tuple(legal)
        assert found.probabilities == pytest.approx([canonical[move] / mass for move in legal], abs=1e-5)
        assert found.legal_mass == pytest.approx(mass, abs=1e-5)
        assert sum(found.probabilities) == pytest.approx(1.0)
        in_any_way = sum(p for ids, p in replies.items() if read_as(player, ask, ids) is not None)
        assert found.legal_mass <= in_any_way + 1e-6
        assert 0.1 < in_any_way < 0.999, "neither certain nor rare"


@pytest.mark.parametrize("temperature", [0.6, 1.0])
def test_estimates_are_within_a_binomial_bound(taught: LoadedModel, temperature: float) -> None:
    player, samples = make_player(taught, temperature), 2000
    for ask in asks(GAME, 3):
        [estimate], moves = estimate_distributions(player, [ask], samples), ask.legal_moves or []
        truth = dict.fromkeys(moves, 0.0)
        for ids, probability in enumerate_replies(taught, player, ask).items():
            if (move := read_as(player, ask, ids)) is not None:
                truth[move] += probability
        assert (estimate.samples, estimate.exact) == (samples, False)
        for share, expected in [
            (estimate.legal_mass, sum(truth.values())),
            *zip((p * estimate.legal_mass for p in estimate.probabilities), truth.values(), strict=True),
        ]:
            assert abs(share - expected) <= 4.5 * math.sqrt(expected * (1 - expected) / samples) + 1e-9
        assert [estimate] == estimate_distributions(player, [ask], samples), "it follows from the seed"


def test_refuses_limits_too_short_for_any_reply(taught: LoadedModel) -> None:
    (ask,) = asks(GAME, 1)
    with pytest.raises(GymposiumError, match="fits into 1 token: the shortest reply has 2"):
        compute_move_distributions(make_player(taught, 1.0, max_tokens=1), [ask])


def test_greedy_distribution_has_one_move(taught: LoadedModel, tiny: LoadedModel) -> None:
    kinds = set()
    for loaded in (taught, tiny):
        player = make_player(loaded, 0.0)
        for ask in asks(GAME, 6):
            found = player.distribution(ask)
            (reply,) = player.act([ask])
            moves = ask.legal_moves or []
            assert found.exact == (found.legal_mass == 1.0)
            if reply.text in moves and reply.finish_reason == "stop":
                assert found.legal_mass == 1.0
                assert found.probabilities == tuple(float(move == reply.text) for move in moves)
            else:
                assert found.legal_mass == 0.0
                assert found.probabilities == (0.0,) * len(moves)
            kinds.add(found.legal_mass)
    assert kinds == {0.0, 1.0}


def test_players_with_free_replies_are_estimated(taught: LoadedModel) -> None:
    (ask,) = asks(GAME, 1)
    found = make_player(taught, 1.0, 8, reply="tags").distribution(ask, samples=20)
    assert found.samples == 20
    assert make_player(taught, 0.0, 8, reply="tags").distribution(ask).samples is None


@pytest.mark.parametrize(("temperature", "how"), [(1.0, "move"), (0.0, "move"), (1.0, "tags")])
def test_batched_distributions_match_single_ones(taught: LoadedModel, temperature: float, how: str) -> None:
    player, many = make_player(taught, temperature, 8, reply=how), [*asks(GAME, 12), *asks(load_game("kuhn_poker"), 4)]
    together = player.distributions(many, samples=20)
    for ask, found in zip(many, together, strict=True):
        alone = player.distribution(ask, samples=20)
        assert (found.moves, found.samples) == (alone.moves, alone.samples)
        assert found.probabilities == pytest.approx(alone.probabilities, abs=1e-5)
        assert found.legal_mass == pytest.approx(alone.legal_mass, abs=1e-5)
    assert player.distributions([]) == []


@pytest.mark.parametrize("context", ["full", "truncated", "last-2"])
def test_history_contexts_require_the_past(taught: LoadedModel, context: str) -> None:
    player = LanguageModelPlayer(
        "lm:taught", taught.engine(), taught.chat, sampling=Sampling(1.0, 2), context=context, reply="move"
    )
    sitting = MatchContext(GAME.new(0), "m", 0)
    player.distribution(sitting.ask(0))
    with pytest.raises(GymposiumError, match=f"context={context}"):
        player.distribution(sitting.ask(0))
    again = MatchContext(GAME.new(0), "m", 0)
    player.act([again.ask(0)])
    player.distribution(again.ask(0))


def test_distribution_has_no_side_effects(taught: LoadedModel) -> None:
    first, second = (next(asks(GAME, 1)) for _ in range(2))
    player = make_player(taught, 1.0)
    for _ in range(2):
        player.distribution(first)
        estimate_distributions(player, [first], 10)
    assert first.memory == {}
    assert player.act([first])[0].text == player.act([second])[0].text


def test_free_text_has_no_distribution(taught: LoadedModel) -> None:
    ask = MatchContext(load_game("trace").new(0), "m", 0).ask(0)
    for ask_for in (compute_move_distributions, estimate_distributions):
        with pytest.raises(GymposiumError, match="takes free text"):
            ask_for(make_player(taught, 1.0), [ask])


def test_estimates_require_samples(taught: LoadedModel) -> None:
    (ask,) = asks(GAME, 1)
    with pytest.raises(GymposiumError, match="samples=0 must be at least 1"):
        estimate_distributions(make_player(taught, 1.0), [ask], 0)


def test_continuations_follow_the_tree_of_legal_replies() -> None:
    replies = [(1, 2, 0), (1, 3, 0), (4, 0)]
    assert find_continuations(replies, (1, 3, 0)) == ((1, 4), (2, 3), (0,))
    assert find_continuations(replies, (4, 0)) == ((1, 4), (0,))
    assert find_continuations(replies, (1, 4, 0)) == ((1, 4), (2, 3), ())
    assert find_continuations(replies, (4, 0, 7)) == ((1, 4), (0,), ())
    assert find_continuations(replies, (7, 1)) == ((1, 4), ())
    assert find_continuations([], (1,)) == ((),)


def test_probabilities_are_split_over_the_tree_of_replies() -> None:
    odds = {(1, 2, 0): 0.5, (1, 3, 0): 0.25, (4, 0): 0.25}
    assert split_probabilities(odds, (1, 3, 0)) == ((0.75, 0.25), (pytest.approx(2 / 3), pytest.approx(1 / 3)), (1.0,))
    assert split_probabilities(odds, (4, 0)) == ((0.75, 0.25), (1.0,))
    for reply, probability in odds.items():  # their product is the probability of a reply
        each = zip(reply, find_continuations(odds, reply), split_probabilities(odds, reply), strict=True)
        assert math.prod(shares[ids.index(token)] for token, ids, shares in each) == pytest.approx(probability)
