"""Uniformly random matches where every decision gets its full text: ours in three ways, and bare pyspiel."""

from __future__ import annotations

import random
from typing import Any

import gymnasium
import pyspiel

from benchmarks.throughput.timing import Play
from gymposium import load_game
from gymposium.envs import aec
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Game
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader
from gymposium.util.streams import draw_outcome


def match_with_text(game: Game) -> Play:
    """Return a `Match`, and for each decision the whole prompt: rules, position, legal moves, how to answer."""
    prompt, rng = get_prompt(game, "full", get_reader("move")), random.Random(0)

    def play(seed: int) -> int:
        match = game.new(seed)
        decisions = 0
        while seats := match.to_move():
            moves = {}
            for seat in seats:
                observation = match.observe(seat)
                prompt(observation)
                legal = observation.legal_moves
                assert legal is not None
                moves[seat] = legal[int(rng.random() * len(legal))]
            match.apply(moves)
            decisions += len(seats)
        match.returns()
        return decisions

    return play


def bare_pyspiel(engine: pyspiel.Game) -> Play:
    """Return the engine alone: its text of the position, and one for each legal action."""
    rng, players = random.Random(0), range(engine.num_players())
    observes = engine.get_type().provides_observation_string  # liars_dice has the other one only

    def decide(state: pyspiel.State, seat: int) -> int:
        legal: list[int] = state.legal_actions(seat)
        if observes:
            state.observation_string(seat)
        else:
            state.information_state_string(seat)
        [state.action_to_string(seat, action) for action in legal]
        return legal[int(rng.random() * len(legal))]

    def play(seed: int) -> int:
        state = engine.new_initial_state()
        decisions = 0
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(draw_outcome(state.chance_outcomes(), rng))
            elif state.is_simultaneous_node():
                state.apply_actions([decide(state, seat) for seat in players])
                decisions += len(players)
            else:
                state.apply_action(decide(state, state.current_player()))
                decisions += 1
        state.returns()
        return decisions

    return play


def find_engine(name: str) -> pyspiel.Game:
    """Return the engine's game as our game of this name plays it: the same variant."""
    game = load_game(name)
    assert isinstance(game, OpenSpielGame)
    params = game.engine.get_parameters()
    return pyspiel.load_game(game.engine.get_type().short_name, params)


def environment(name: str, **keywords: Any) -> gymnasium.Env[Any, Any]:
    """Return the game as `gymnasium.make` makes it, against random play."""
    return gymnasium.make(load_game(name).spec.env_id, **{"opponent": "random", **keywords})


def through_gymnasium(name: str) -> Play:
    """`gymnasium.make`: the learner's text; its opponents choose from the legal moves without reading any."""
    env, rng = environment(name), random.Random(0)
    env.reset(seed=0)

    def play(seed: int) -> int:
        _, info = env.reset()
        terminated = False
        while not terminated:
            legal = info["legal_moves"]
            _, _, terminated, _, info = env.step(legal[int(rng.random() * len(legal))])
        return len(env.unwrapped.played.turns)  # type: ignore[attr-defined]

    return play


def through_pettingzoo(name: str) -> Play:
    """Our AEC environment: text, mask and tensor of every seat."""
    env, rng = aec.env(game=name), random.Random(0)
    env.reset(seed=0)

    def play(seed: int) -> int:
        env.reset()
        decisions = 0
        for _ in env.agent_iter():
            _, _, terminated, _, info = env.last()
            if terminated:
                env.step(None)
                continue
            legal = info["legal_moves"]
            env.step(legal[int(rng.random() * len(legal))])
            decisions += 1
        return decisions

    return play
