"""The games as Gymnasium environments, in which a learner plays one seat and opponents play the others."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from gymposium.envs.learner import LearnerOptions, LearnerTable, require_table
from gymposium.envs.options import METADATA, as_reply, check_open, draw_seed
from gymposium.games.protocol import Game, Match
from gymposium.match import MatchResult


class TextGameEnv(gymnasium.Env[Any, Any]):
    """A text game against opponents.

    Actions are text, such as `"b2"`, or an index into the game's action space. The rewards of an episode add up to the
    seat's return. A match follows from the seed given to `reset`, else from `np_random`.

    Keywords:

    - `game`: a name such as `"goofspiel"`, or a `Game`.
    - `opponent`: one player for all other seats, or a sequence with one for each, by name (`"random"`, `"mcts-100"`) or
      ready-made.
    - `seat`: the learner's seat, or `"random"` to draw it for each match.
    - `on_illegal`: the policy for replies of the learner and of opponents that are not legal moves.
    - `reply`: the form of text replies: `"move"`, `"tags"` or `"json"`.
    - `prompt`: `"full"` or `"compact"`.
    - `observation`: `"text"`, `"tensor"` or `"dict"` (text, action_mask, observation).
    - `render_mode`: `"ansi"` or `"human"`.
    - all others: parameters of the game.

    If the game's engine fails, `reset` and `step` raise `gymposium.match.EngineError`, which holds the match so far;
    the next `reset` begins another. After `close` everything raises `ClosedEnvironmentError`.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(self, game: str | Game, **keywords: Any) -> None:
        self._options = options = LearnerOptions(game, **keywords)
        self._table: LearnerTable | None = None
        self._closed = False
        self.game = options.game
        self.render_mode = options.render_mode
        self.observation_space = options.observation_space
        self.action_space = options.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins a match and plays the moves of opponents that come before the learner's. The only option is `seat`,
        the learner's seat in this match, with the values of the keyword.

        The match can be over before the learner is asked: in euchre a partner may play alone, and an opponent may
        fail. Then `info` has its `result`, no move is legal, and the first step, with any action, returns the reward
        and the end.
        """
        check_open(self._closed)
        super().reset(seed=seed)
        match_seed = draw_seed(self.np_random) if seed is None else seed
        seat = self._options.seat_for(match_seed, options)
        self._release()
        self._table = None  # nothing can be stepped if the match cannot be made
        self._table = table = LearnerTable.open(self._options, match_seed, seat)
        table.go_on()
        shown = table.look()
        self._settle(table)
        return shown

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays one reply of the learner, and the opponents' moves up to its next decision or the end."""
        check_open(self._closed)
        reply = as_reply(action, self.game)
        table = self._table or require_table(None)
        table.step(reply)
        table.go_on()
        outcome = table.outcome()
        if table.error is not None or self.render_mode == "human":
            self._settle(table)
        return outcome

    def _settle(self, table: LearnerTable) -> None:
        """Raise the engine's error if the match broke off, else render the match if `render_mode` is `human`."""
        if table.error is not None:
            table.needs_reset = True
            raise table.error
        if self.render_mode == "human":
            table.render()

    def render(self) -> str | None:
        """Renders the seat's view of the position: returned for `ansi`, printed for `human`."""
        check_open(self._closed)
        return require_table(self._table).render()

    def action_masks(self) -> np.ndarray:
        """The action mask, an int8 array: 1 for each legal action. `action_space.sample` and MaskablePPO take it."""
        return require_table(self._table).mask()

    def close(self) -> None:
        """Closes the environment: `reset`, `step` and `render` raise from now on. The last match can still be read."""
        self._closed = True
        self._release()

    def _release(self) -> None:
        """Release what an unfinished match holds. It can still be read."""
        if self._table is not None:
            self._table.close()

    @property
    def seat(self) -> int:
        """The learner's seat in this match."""
        return 0 if self._table is None else self._table.seat

    @property
    def match(self) -> Match:
        """The current match, with its `events`. It must not be changed."""
        return require_table(self._table).look_at_match()

    @property
    def played(self) -> MatchResult | None:
        """The result of the match, for `gymposium.records.RecordWriter.write`; None until it is over."""
        return None if self._table is None else self._table.played
