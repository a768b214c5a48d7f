"""Exact figures of a language model match its sampled matches."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from gymposium.analysis.exact import compute_value, measure_player, tabulate_policy
from gymposium.analysis.exact.graph import build_graph
from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.players.random import RandomPlayer
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader
from gymposium.util.streams import stream
from gymposium_agents.chat.tokens import Completion, Sampling, TokenRequest
from gymposium_agents.modeling.forward import compute_completion_logits
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_agents.players.player import LanguageModelPlayer


@pytest.fixture(scope="module")
def taught(model_directory: Path) -> LoadedModel:
    """A model trained to play kuhn_poker timidly: it mostly passes, in each of the twelve states."""
    loaded, game = load_model(model_directory), load_game("kuhn_poker")
    prompt = get_prompt(game, "compact", get_reader("move"))
    wanted: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
    for position in build_graph(game).positions:
        if position.seat >= 0:
            text = prompt(game.load(position.events).observe(position.seat, "compact"))
            passes = 0.7 if position.view.startswith("2") else 0.9  # with and without the king
            for move, share in zip(position.moves, (passes, 1.0 - passes), strict=True):
                wanted[loaded.chat.prompt(text), loaded.chat.reply(move)] = share
    pairs, shares = [*wanted], torch.tensor([*wanted.values()])
    optimizer = torch.optim.AdamW(loaded.model.parameters(), lr=1e-2)
    for _ in range(40):
        logits, tokens, mask = compute_completion_logits(loaded.model, pairs, loaded.pad)
        scores = torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[..., 0]
        optimizer.zero_grad()
        (-(scores * mask).sum(dim=1) * shares).sum().backward()
        optimizer.step()
    return loaded


def make_player(loaded: LoadedModel, temperature: float, context: str = "state") -> LanguageModelPlayer:
    sampling = Sampling(temperature, 8)
    return LanguageModelPlayer("lm:taught", loaded.engine(), loaded.chat, sampling=sampling, context=context)


@pytest.mark.slow
def test_table_matches_sampled_play(taught: LoadedModel) -> None:
    """Within Hoeffding's bound for 2,000 matches in each seat (one run in 10,000 may fail, and this one is always the
    same), and what legal moves in other words can add."""
    game, player, matches = load_game("kuhn_poker"), make_player(taught, 1.0), 2000
    policy = tabulate_policy(game, player)
    assert 0.98 < policy.legal_mass < 1.0
    found, uniform = compute_value(policy), compute_value(tabulate_policy(game, RandomPlayer()))
    low, high = game.utility_range
    bound = math.sqrt(math.log(2 * 4 * 10_000) / (2 * matches)) + 2 * (1.0 - policy.legal_mass)
    for seat, outcome in enumerate(found.seats):
        players = [player, RandomPlayer()] if seat == 0 else [RandomPlayer(), player]
        seeds = [stream(seat, "exact", i).getrandbits(48) for i in range(matches)]
        ended = list(play(MatchJob(f"m{seat}-{i}", game, players, seed=seed) for i, seed in enumerate(seeds)))
        wins = sum(p.result(seat) == "win" for p in ended) / matches
        mean = sum(p.returns[seat] for p in ended) / matches
        assert abs(wins - outcome.win) <= bound
        assert abs(mean - outcome.mean_return) <= bound * (high - low)
        assert abs(wins - uniform.seats[seat].win) > bound, "it can be told from random play"


@pytest.mark.parametrize("name", ["tic_tac_toe", "kuhn_poker"])
def test_greedy_play_follows_its_table(taught: LoadedModel, tiny: LoadedModel, name: str) -> None:
    game = load_game(name)
    for loaded in (taught, tiny):
        player = make_player(loaded, 0.0)
        policy = tabulate_policy(game, player)
        for seat in (0, 1):
            players = [player, RandomPlayer()] if seat == 0 else [RandomPlayer(), player]
            for played in play(MatchJob(f"m{i}", game, players, seed=i) for i in range(40)):
                match = game.new(played.job.seed)
                for event in played.events:
                    if event.seat >= 0:
                        if event.seat == seat:
                            at = policy.table[seat, match.view(seat)]
                            assert at.probabilities[at.moves.index(event.move)] == at.legal_mass == 1.0
                        match.apply({event.seat: event.move})
                if played.ending.seat is not None:
                    assert policy.table[seat, match.view(seat)].legal_mass == 0.0


@pytest.mark.slow
def test_tabulating_batches_positions(tiny: LoadedModel) -> None:
    class Counting:
        def __init__(self) -> None:
            self.engine, self.calls = tiny.engine(), 0
            self.context, self.policy = self.engine.context, self.engine.policy

        def score(self, *arguments: object, **more: object) -> list[tuple[float, ...]]:
            self.calls += 1
            return self.engine.score(*arguments, **more)  # type: ignore[arg-type]

        def generate(self, requests: list[TokenRequest], sampling: Sampling) -> list[Completion]:
            self.calls += 1
            return self.engine.generate(requests, sampling)

    for temperature in (1.0, 0.0):
        counting = Counting()
        player = LanguageModelPlayer("lm:tiny", counting, tiny.chat, sampling=Sampling(temperature, 8))
        policy = tabulate_policy(load_game("tic_tac_toe"), player)
        assert counting.calls <= 9, "one for each number of pieces on the board"
        assert (len(policy.table) == 4520) == (temperature == 1.0)


def test_illegal_greedy_model_loses_every_match(tiny: LoadedModel) -> None:
    """The player forfeits at once, so a perfect opponent wins, and there is no policy over legal moves."""
    found = measure_player(load_game("tic_tac_toe"), make_player(tiny, 0.0))
    assert found.restricted is None
    assert found.as_played.response is not None
    assert [o.win for o in found.as_played.response.value.seats] == [1.0, 1.0]
    assert found.as_played.against_random.mean.loss > 0.5


def test_history_contexts_have_no_table(taught: LoadedModel) -> None:
    with pytest.raises(GymposiumError, match="context=full"):
        tabulate_policy(load_game("kuhn_poker"), make_player(taught, 1.0, "full"))
