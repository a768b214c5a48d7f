"""Games as Gymnasium environments: a learner plays one seat and opponents play the rest."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from gymposium.envs.learner import LearnerOptions, LearnerTable
from gymposium.envs.options import METADATA, check_open, draw_seed, parse_action, require_table
from gymposium.games.protocol import Game, Match
from gymposium.match import MatchResult


class TextGameEnv(gymnasium.Env[Any, Any]):
    """A text game against opponents.

    Actions are text, such as `"b2"`, or an index into the game's action space. An episode's rewards add up to the
    seat's return. A match depends only on the seed passed to `reset`, or else on `np_random`.

    Keywords:

    - `game`: a name such as `"goofspiel"`, or a `Game`.
    - `opponent`: one player for all other seats, or a sequence with one per seat, as names (`"random"`, `"mcts-100"`)
      or player objects.
    - `seat`: the learner's seat, or `"random"` to draw it for each match.
    - `on_illegal`: the policy for illegal replies by the learner and opponents.
    - `reply`: the form of text replies: `"move"`, `"tags"` or `"json"`.
    - `prompt`: `"full"` or `"compact"`.
    - `observation`: `"text"`, `"tensor"`, `"image"` or `"dict"` (text, action_mask, observation).
    - `render_mode`: `"ansi"`, `"human"` or `"rgb_array"`.
    - further keywords: game parameters.

    If the game's engine fails, `reset` and `step` raise `gymposium.match.EngineError`, which contains the match so far.
    The next `reset` begins a new match. After `close`, every method raises `ClosedEnvironmentError`.
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
        """Begin a match and play the opponents' moves before the learner's first.

        The only option is `seat`, the learner's seat in this match, with the same values as the keyword.

        The match can end before the learner's first turn: in euchre a partner may play alone, or an opponent may
        forfeit. Then `info` has the `result` and no move is legal. The first step, with any action, returns the reward
        and ends the episode.
        """
        check_open(self._closed)
        super().reset(seed=seed)
        match_seed = draw_seed(self.np_random) if seed is None else seed
        seat = self._options.choose_seat(match_seed, options)
        self._release()
        self._table = None  # nothing can be stepped if the match cannot be made
        self._table = table = LearnerTable.open(self._options, match_seed, seat)
        table.advance()
        shown = table.observe()
        self._settle(table)
        return shown

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play one learner reply, and the opponents' moves up to its next decision or the end."""
        check_open(self._closed)
        reply = parse_action(action, self.game)
        table = self._table or require_table(None)
        table.step(reply)
        table.advance()
        outcome = table.outcome()
        if table.error is not None or self.render_mode == "human":
            self._settle(table)
        return outcome

    def _settle(self, table: LearnerTable) -> None:
        """Raise the engine's error if the match broke off. Otherwise render the match if `render_mode` is `human`."""
        if table.error is not None:
            table.needs_reset = True
            raise table.error
        if self.render_mode == "human":
            table.render()

    def render(self) -> str | np.ndarray | None:
        """Render the seat's view of the position: returned for `ansi` and `rgb_array`, printed for `human`."""
        check_open(self._closed)
        return require_table(self._table).render()

    def action_masks(self) -> np.ndarray:
        """Return the action mask for `action_space.sample` and MaskablePPO: an int8 array with 1 for legal actions."""
        return require_table(self._table).mask()

    def close(self) -> None:
        """Close the environment: afterwards `reset`, `step` and `render` raise. The last match can still be read."""
        self._closed = True
        self._release()

    def _release(self) -> None:
        """Release an unfinished match's resources. The match can still be read."""
        if self._table is not None:
            self._table.close()

    @property
    def seat(self) -> int:
        """The learner's seat in this match."""
        return 0 if self._table is None else self._table.seat

    @property
    def match(self) -> Match:
        """The current match, with its `events`. It must not be modified."""
        return require_table(self._table).require_match()

    @property
    def played(self) -> MatchResult | None:
        """The match's result, for `gymposium.records.RecordWriter.write`; None until it is over."""
        return None if self._table is None else self._table.played
