"""Monte Carlo tree search, by OpenSpiel's bots, over worlds sampled from the seat's own view.

Perfect information: the C++ `MCTSBot` on a fork of the position (nothing is hidden, and later chance is
fresh). Hidden information: `ISMCTSBot` on a sampled world; it resamples from the information state
itself, so neither it nor we ever see the other hand. It is OpenSpiel's in Python: the one in C++ is some
20 times faster, but it breaks ties in the order of its hash tables, so that equal seeds play differently.
Strength is bounded by simulations, never by time, and a move depends on the match's seed and the turn alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyspiel

from gymposium.errors import NoSampler
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Reply
from gymposium.reading import READERS, Reader
from gymposium.streams import draw

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
        action = self._hidden(world, ask.rng) if world.game.hides else self._open(world, ask.rng)
        names = world.game.names
        return names[action] if names is not None else world.game.wording.move(world.state, ask.seat, action)

    def _open(self, world: OpenSpielMatch, rng: random.Random) -> int:
        seed = rng.getrandbits(31)
        evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, seed)
        # solve=False: a solver settles for a proven draw and wins less against weak play
        bot = pyspiel.MCTSBot(world.game.engine, evaluator, UCT_C, self.simulations, MAX_MEMORY_MB, False, seed, False)
        return int(bot.step(world.state))

    def _hidden(self, world: OpenSpielMatch, rng: random.Random) -> int:
        import numpy as np
        from open_spiel.python.algorithms.ismcts import ISMCTSBot, ISMCTSFinalPolicyType
        from open_spiel.python.algorithms.mcts import RandomRolloutEvaluator

        numbers = np.random.RandomState(rng.getrandbits(31))  # what the bot takes
        bot = ISMCTSBot(
            world.game.engine,
            RandomRolloutEvaluator(ROLLOUTS, numbers),
            UCT_C,
            self.simulations,
            random_state=numbers,
            final_policy_type=ISMCTSFinalPolicyType.NORMALIZED_VISITED_COUNT,  # mixes, as hidden games ask for
        )
        bot.set_resampler(lambda state, seat: state.resample_from_infostate(seat, rng.random))
        return draw(bot.get_policy(world.state), rng)
