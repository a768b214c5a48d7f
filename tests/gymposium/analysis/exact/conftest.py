"""A player with known move probabilities, and policies in OpenSpiel's form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from open_spiel.python import policy as openspiel_policy

from gymposium.analysis.exact import Policy
from gymposium.analysis.exact.equilibrium import list_information_states, make_sequential
from gymposium.analysis.exact.graph import build_graph
from gymposium.games.protocol import Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS, Reader
from gymposium.util.streams import stream


class OddsPlayer:
    """Plays each legal move with odds that follow from its seed and from what it reads, and now and then none."""

    reader: Reader = READERS["move"]
    style: Style = "compact"

    def __init__(self, seed: int, legal_mass: float = 1.0, *, pure: bool = False) -> None:
        self.name = f"odd-{seed}"
        self.seed, self.legal_mass, self.pure = seed, legal_mass, pure
        self.asked: list[list[tuple[int, int, str, list[str]]]] = []

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        seen = [(ask.seat, ask.turn, ask.observe("full").text, ask.legal_moves or []) for ask in asks]
        self.asked.append(seen)
        return [self._odds(seat, text, moves) for seat, _, text, moves in seen]

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies = []
        for ask in asks:
            found = self._odds(ask.seat, ask.observe("full").text, ask.legal_moves or [])
            move = ask.rng.choices(found.moves, found.probabilities)[0]
            replies.append(Reply(move if ask.rng.random() < self.legal_mass else "I resign"))
        return replies

    def _odds(self, seat: int, text: str, moves: list[str]) -> MoveDistribution:
        rng = stream(self.seed, seat, text)
        if self.pure:
            chosen = rng.choice(moves)
            weights = [float(move == chosen) for move in moves]
        else:
            weights = [rng.random() ** 3 for _ in moves]
        odds = tuple(weight / sum(weights) for weight in weights)
        return MoveDistribution(tuple(moves), odds, self.legal_mass, samples=None)


class TablePolicy(openspiel_policy.Policy):  # type: ignore[misc]
    """A policy as OpenSpiel's algorithms read it; uniform where it never gets to."""

    def __init__(self, policy: Policy) -> None:
        game = build_graph(policy.game).game
        self.game = make_sequential(game)
        super().__init__(self.game, [0, 1])
        self.table = policy.table
        self.states = dict(list_information_states(game, self.game)) if game.hides or self.game != game.engine else None
        self.render_view = game.render_view

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        seat = state.current_player()
        if self.states is None:
            found = self.table.get((seat, self.render_view(state, seat)))
        else:
            found = self.table.get(self.states[state.information_state_string(seat)])
        actions = state.legal_actions()
        odds = [1 / len(actions)] * len(actions) if found is None else found.probabilities
        return dict(zip(actions, odds, strict=True))


@pytest.fixture(scope="session")
def known() -> type[TablePolicy]:
    return TablePolicy


@pytest.fixture(scope="session")
def make_odds_player() -> Callable[..., OddsPlayer]:
    return OddsPlayer
