"""Many matches of one game as a Gymnasium vector environment: `gymnasium.make_vec(id, num_envs=256)`.

Each match is the same as in a single environment with the same seed. An opponent gets one call for all matches, which
speeds up a multi-threaded search or a model on an accelerator.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.spaces import Dict, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gymposium.envs.learner import KEYWORDS, LearnerOptions, LearnerTable
from gymposium.envs.options import METADATA, check_open, check_options, choose_seed, parse_action, require_table
from gymposium.envs.spaces import UnicodeText
from gymposium.envs.table import Table, advance_tables
from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Match
from gymposium.match import MatchResult
from gymposium.util.visible import quantity


class TextGameVectorEnv(VectorEnv[Any, Any, np.ndarray]):
    """A text game against opponents, in `num_envs` matches at once.

    Keywords are those of `TextGameEnv`, plus two more:

    - `autoreset_mode`: when a new match begins after one ends. `"NextStep"`: in the next step, which ignores its
      action. `"SameStep"`: in the same step; `info["final_obs"]` and `info["final_info"]` describe the end of the old
      match. `"Disabled"`: by `reset` with the option `reset_mask`.
    - `max_episode_steps`: the number of steps before a match is truncated; None for no limit.

    Actions are an array of indices, or a sequence of indices and texts. Observations are a tuple of texts, an array,
    or a dict of these. Infos have Gymnasium's vector form: each key has a mask `_key`.

    If one match's engine fails, the other matches continue. The failed match is truncated without further reward, its
    observation omits the position, and its info has an `error`. A new match follows according to the autoreset mode. A
    warning shows the engine's error, and `ended` contains the match so far. If a match fails to start, its first step
    reports the failure.
    """

    def __init__(
        self,
        game: str | Game,
        *,
        num_envs: int,
        autoreset_mode: str | AutoresetMode = "NextStep",
        max_episode_steps: int | None = None,
        **keywords: Any,
    ) -> None:
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(repr(mode.value) for mode in AutoresetMode)
            raise BadOption(f"Unknown autoreset_mode={autoreset_mode!r}. Use {modes}.") from None
        self.num_envs = num_envs = _check_count("num_envs", num_envs)
        self._limit = math.inf if max_episode_steps is None else _check_count("max_episode_steps", max_episode_steps)
        every = (*KEYWORDS, "autoreset_mode", "max_episode_steps", "num_envs")
        self._options = learner_options = LearnerOptions(game, every, **keywords)
        self.game = learner_options.game
        self.metadata = {**METADATA, "autoreset_mode": self.autoreset_mode}
        self.render_mode = learner_options.render_mode
        self.single_observation_space = learner_options.observation_space
        self.single_action_space = learner_options.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.ended: list[MatchResult] = []
        """Results of the matches that ended in the last step, for `gymposium.records.RecordWriter.write`.

        The result of a match that broke off has an `error`."""
        self._tables: list[LearnerTable | None] = [None] * num_envs
        self._steps = np.zeros(num_envs, int)
        """Number of steps in each match."""
        self._rngs: list[np.random.Generator | None] = [None] * num_envs
        self._shown: list[Any] = [None] * num_envs

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin matches with the seeds `seed`, `seed + 1`, …, with a list of seeds, or with newly drawn seeds.

        Options are `seat`, as in the single environment, and `reset_mask`, an array of `num_envs` bools with True for
        each match to begin."""
        check_open(self.closed)
        seeds = self._choose_seeds(seed)
        infos = self._begin(self._select_slots(options), seeds, options)
        self._render_if_human()
        return _stack_observations(self.single_observation_space, self._shown), _batch_infos(infos, self.num_envs)

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one reply in every unfinished match.

        Raises `InvalidAction` for an invalid action and `ResetNeeded` if a match must be reset first. In both cases
        nothing is played."""
        check_open(self.closed)
        mode, n = self.autoreset_mode, self.num_envs
        if isinstance(actions, str) or not hasattr(actions, "__len__"):
            raise InvalidAction(f"actions={actions!r} must be a sequence of {n} actions, one per match.")
        if len(actions) != n:
            raise InvalidAction(
                f"Got {quantity(len(actions), 'action')} for {quantity(n, 'match')}. Pass one action per match."
            )
        tables = [*map(require_table, self._tables)]
        over = [i for i, table in enumerate(tables) if table.needs_reset]
        if over and mode is AutoresetMode.DISABLED:
            raise ResetNeeded(f"Matches {over} are over. Call reset(options={{'reset_mask': …}}) before step().")
        live = [i for i, table in enumerate(tables) if not table.needs_reset]
        for i, reply in [(i, parse_action(actions[i], self.game)) for i in live]:
            tables[i].step(reply)
        infos = self._begin(over, [None] * n, None, [tables[i] for i in live])

        rewards = np.zeros(n)
        terminations, truncations = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        for i in live:
            self._shown[i], rewards[i], terminations[i], truncations[i], infos[i] = tables[i].outcome()
        self._steps[live] += 1
        for i in np.flatnonzero(self._steps >= self._limit).tolist():
            tables[i].needs_reset = truncations[i] = True
        done = [i for i in live if tables[i].needs_reset]
        self.ended = [played for i in done if (played := tables[i].played) is not None]
        for i in done:
            if (error := tables[i].error) is not None:
                warnings.warn(f"Match {i} of {n} broke off; the others continue. {error}", RuntimeWarning, stacklevel=2)
        batched: dict[str, Any] = {}
        if done and mode is AutoresetMode.SAME_STEP:
            batched = _batch_infos({i: {"final_obs": self._shown[i]} for i in done}, n)
            batched["final_info"] = _batch_infos({i: infos[i] for i in done}, n)
            batched["_final_info"] = batched["_final_obs"].copy()
            infos |= self._begin(done, [None] * n, None)
        batched |= _batch_infos(infos, n)
        self._render_if_human()
        return (
            _stack_observations(self.single_observation_space, self._shown),
            rewards,
            terminations,
            truncations,
            batched,
        )

    def _begin(
        self,
        which: Sequence[int],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None,
        others: Iterable[Table] = (),
    ) -> dict[int, dict[str, Any]]:
        """Begin matches in these slots, advance them together with the tables in `others`, and return the new matches'
        infos."""
        new = []
        for i in which:
            self._steps[i] = 0
            seed, self._rngs[i] = choose_seed(seeds[i], self._rngs[i])
            seat = self._options.choose_seat(seed, options, ("reset_mask",))
            if (old := self._tables[i]) is not None:
                old.close()
            self._tables[i] = None  # nothing can be stepped if the match cannot be made
            table = self._tables[i] = LearnerTable.open(self._options, seed, seat)
            new.append(table)
        advance_tables([*others, *new])
        infos = {}
        for i, table in zip(which, new, strict=True):
            self._shown[i], infos[i] = table.observe()
        return infos

    def _choose_seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise BadOption(
                f"seed: got {quantity(len(seed), 'seed')} for {quantity(self.num_envs, 'match')}. Pass one seed per "
                f"match."
            )
        return seed

    def _select_slots(self, options: dict[str, Any] | None) -> Sequence[int]:
        """Return the slots that a reset with these options restarts: those in `reset_mask`, or all without it."""
        check_options(options, ("seat", "reset_mask"))
        if options is None or "reset_mask" not in options:
            return range(self.num_envs)
        mask = options["reset_mask"]
        if not (isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (self.num_envs,)):
            raise BadOption(f"reset_mask={mask!r} must be a NumPy array of {self.num_envs} bools.")
        if not mask.any():
            raise BadOption(f"reset_mask={mask!r} selects no match. Set at least one element to True.")
        if any(shown is None for shown in self._shown):
            raise ResetNeeded("There are no matches yet. Call reset() without a reset_mask first.")
        return [int(i) for i in np.flatnonzero(mask)]

    def render(self) -> tuple[Any, ...]:
        """Render each learner's view of its match: returned for `ansi` and `rgb_array`, printed for `human`."""
        check_open(self.closed)
        return tuple(require_table(table).render() for table in self._tables)

    def _render_if_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def close_extras(self, **kwargs: Any) -> None:
        """Release the resources of unfinished matches."""
        for table in self._tables:
            if table is not None:
                table.close()

    def action_masks(self) -> np.ndarray:
        """Return the action masks, an int8 array of shape (num_envs, number of actions) with 1 for legal actions."""
        return np.stack([require_table(table).mask() for table in self._tables])

    @property
    def matches(self) -> tuple[Match | None, ...]:
        """Current matches, with their `events`; None for a match that the engine could not begin.

        Do not modify them."""
        return tuple(getattr(require_table(table), "match", None) for table in self._tables)


def _check_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise BadOption(f"{name}={value!r} must be an integer, 1 or more.")
    return int(value)


def _stack_observations(space: Space[Any], shown: Sequence[Any]) -> Any:
    """Stack single environments' observations into one observation in the batched space."""
    if isinstance(space, Dict):
        return {
            key: _stack_observations(part, [observation[key] for observation in shown]) for key, part in space.items()
        }
    return tuple(shown) if isinstance(space, UnicodeText) else np.stack(shown)


def _batch_infos(infos: Mapping[int, Mapping[str, Any]], n: int) -> dict[str, Any]:
    """Combine infos into Gymnasium's vector form: an array per key, and a mask under `_key`."""
    columns: dict[str, np.ndarray] = {}
    masks: dict[str, np.ndarray] = {}
    for i, info in infos.items():
        for key, value in info.items():
            if key not in columns:
                columns[key] = np.zeros(n, int) if type(value) is int else np.full(n, None, object)
                masks[key] = np.zeros(n, np.bool_)
            columns[key][i] = value
            masks[key][i] = True
    return {**columns, **{f"_{key}": mask for key, mask in masks.items()}}
