"""Monte Carlo tree search, by OpenSpiel's C++ bots, over worlds sampled from the seat's own view.

Perfect information: `MCTSBot` on a fork of the position (nothing is hidden, and later chance is
fresh). Hidden information: `ISMCTSBot` on a sampled world; it resamples from the information state
itself, so neither it nor we ever see the other hand. Strength is bounded by simulations, never by
time, and a move depends on the match's seed and the turn alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyspiel

from gymposium.errors import NoSampler
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Reply
from gymposium.reading import READERS, Reader

UCT_C = 2.0
ROLLOUTS = 1
MAX_MEMORY_MB = 1000


class MctsPlayer:
    """Tree search with a fixed number of simulations a move."""

    reader: Reader = READERS["move"]
    style: Style = "compact"

    def __init__(self, simulations: str | int) -> None:
        self.simulations = int(simulations)
        self.name = f"mcts-{self.simulations}"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def _choose(self, ask: Ask) -> str:
        world = ask.sampler.world(ask.rng)
        if not isinstance(world, OpenSpielMatch):
            raise NoSampler(f"{self.name} searches OpenSpiel games; {ask.game.name} is not one. Use the random player.")
        kind = world.game.engine.get_type()
        if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
            raise NoSampler(f"{self.name} cannot search {ask.game.name}: its moves are simultaneous.")
        if kind.reward_model != pyspiel.GameType.RewardModel.TERMINAL:
            raise NoSampler(f"{self.name} cannot search {ask.game.name}: rewards come during the game, not at its end.")
        seed = ask.rng.getrandbits(31)
        evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, seed)
        bot: pyspiel.Bot
        if world.game.hides:
            bot = pyspiel.ISMCTSBot(seed, evaluator, UCT_C, self.simulations)
        else:
            # solve=False: a solver settles for a proven draw and wins less against weak play
            bot = pyspiel.MCTSBot(
                world.game.engine, evaluator, UCT_C, self.simulations, MAX_MEMORY_MB, False, seed, False
            )
        action = bot.step(world.state)
        names = world.game.names
        return names[action] if names is not None else world.game.wording.move(world.state, ask.seat, action)
