"""The games as Gymnasium environments: the learner has one seat, opponents the others."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from gymposium.driver import MatchResult
from gymposium.envs.actions import as_reply
from gymposium.envs.learner import LearnerOptions, LearnerSeat
from gymposium.envs.options import METADATA, check_open, draw_seed
from gymposium.games.protocol import Game, Match


class TextGameEnv(gymnasium.Env[Any, Any]):
    """A text game against opponents.

    Actions are text (`"b2"`, read as `reply` says) or an index into the game's moves. Rewards add up to
    the seat's return. The match follows from the seed given to `reset`, else from `np_random`.

    Keywords: `game`, a name such as `"goofspiel"`, or a `Game`; `opponent`, one player for all other
    seats or a sequence with one for each, by name (`"random"`, `"mcts-100"`) or ready-made; `seat`, the
    learner's, or `"random"` to draw it anew for each match; `on_illegal`, the policy for replies that are
    not legal moves, the learner's and the opponents' alike; `reply`, how text is read: `"move"`, `"tags"` or
    `"json"`; `prompt`, `"full"` or `"compact"`; `observation`, `"text"`, `"dict"` (text, action_mask,
    observation) or `"tensor"`; `render_mode`, `"ansi"` or `"human"`; and the game's own parameters.

    If the game's engine fails, `reset` or `step` raises `gymposium.driver.EngineError`, which holds the
    match so far; the next `reset` begins another. After `close` everything raises `ClosedEnvironmentError`.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(self, game: str | Game, **keywords: Any) -> None:
        self._options = options = LearnerOptions(game, **keywords)
        self._learner = LearnerSeat(options)
        self._closed = False
        self.game = options.game
        self.render_mode = options.render_mode
        self.observation_space = options.observation_space
        self.action_space = options.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins a match; opponents that come before the learner have moved. The only option is `seat`: the learner's
        seat in this match, as the keyword has it.

        If the match is over before the learner is asked (in euchre a partner may play alone; an opponent may fail),
        `info` has its `result` already, no move is legal, and the first step, whatever its action, returns the reward
        and the end.
        """
        check_open(self._closed)
        super().reset(seed=seed)
        match_seed = draw_seed(self.np_random) if seed is None else seed
        seat = self._options.seat_for(match_seed, options)
        self._learner.begin(match_seed, seat).go_on()
        shown = self._learner.look()
        self._settle()
        return shown

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays one reply of the learner, then opponents until it is asked again or the match is over."""
        check_open(self._closed)
        learner = self._learner
        table = learner.give(as_reply(action, self.game))
        table.go_on()
        outcome = learner.outcome()
        if table.error is not None or self.render_mode == "human":
            self._settle()
        return outcome

    def _settle(self) -> None:
        """Raises the engine's error if the match broke off; renders it otherwise if `render_mode` is `human`."""
        if (error := self._learner.table.error) is not None:
            self._learner.over = True
            raise error
        if self.render_mode == "human":
            self._learner.render()

    def render(self) -> str | None:
        """The seat's own view of the position: returned for `ansi`, printed for `human`."""
        check_open(self._closed)
        return self._learner.render()

    def action_masks(self) -> np.ndarray:
        """One int8 for each action: 1 if it is legal now (for `action_space.sample` and MaskablePPO)."""
        return self._learner.mask()

    def close(self) -> None:
        """Ends the environment: no more resets, steps and renders. The last match can still be read."""
        self._closed = True

    @property
    def seat(self) -> int:
        """The learner's seat in this match."""
        return self._learner.seat

    @property
    def match(self) -> Match:
        """The current match; its `events` are its record. Not to be changed."""
        return self._learner.table.look_at_match()

    @property
    def played(self) -> MatchResult | None:
        """The result of the match, as `gymposium.records.RecordWriter.write` takes it; None until it is over."""
        return self._learner.played
