"""Many matches of one game at once, as a Gymnasium vector environment: `gymnasium.make_vec(id, num_envs=256)`.

Every match is what a single environment of the same seed would play. What is gained is that an opponent is asked
for all matches in one call, which a search that runs in threads or a model on an accelerator can use.
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

from gymposium.driver import MatchResult
from gymposium.envs.actions import as_reply
from gymposium.envs.learner import KEYWORDS, LearnerOptions, LearnerSeat
from gymposium.envs.options import METADATA, check_open, check_options, fresh_seed
from gymposium.envs.spaces import UnicodeText
from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Match
from gymposium.table import Table, advance


class TextGameVectorEnv(VectorEnv[Any, Any, np.ndarray]):
    """A text game against opponents, `num_envs` matches at once.

    Keywords are those of `TextGameEnv`, and `autoreset_mode`: `"NextStep"` (a match that is over begins anew in
    the next step, whose action for it is not read), `"SameStep"` (in the same step; what the old one ended with is
    in `info["final_obs"]` and `info["final_info"]`) or `"Disabled"` (by `reset` with the option `reset_mask`); and
    `max_episode_steps`, after how many steps a match is truncated, where it is not None.

    Actions are an array of indices, or a sequence in which each is an index or text. Observations are a tuple of
    text, an array, or a dict of these; infos are Gymnasium's, each key with its mask `_key`.

    Where the engine of one match fails, the others go on. That match is truncated: it pays nothing more, shows
    nothing of the position, says so in `info["error"]`, and a new one begins in its place as the autoreset mode has
    it. A warning gives the engine's error, and `ended` holds the match so far. Where a match cannot even begin, its
    first step says so.
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
        self.autoreset_mode = _autoreset(autoreset_mode)
        self.num_envs = num_envs = _count("num_envs", num_envs)
        self._limit = math.inf if max_episode_steps is None else _count("max_episode_steps", max_episode_steps)
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
        """The matches that ended in the last step, as `gymposium.records.RecordWriter.write` takes them; one that
        broke off says so in its `error`."""
        self._learners = [LearnerSeat(learner_options) for _ in range(num_envs)]
        self._steps = np.zeros(num_envs, int)
        """How many each match has had."""
        self._rngs: list[np.random.Generator | None] = [None] * num_envs
        self._shown: list[Any] = [None] * num_envs

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin matches: of the seeds `seed`, `seed + 1`, …, or of a list of seeds, or of seeds drawn after the last
        ones given. Options are `seat`, as for the single environment, and `reset_mask`, which of them to begin."""
        check_open(self.closed)
        seeds = self._seeds(seed)
        infos = self._begin(self._asked_for(options), seeds, options)
        self._show()
        return _stack(self.single_observation_space, self._shown), _batch(infos, self.num_envs)

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One reply in every match that goes on. Where an action is none at all, or a match is over that must be
        reset, it raises before anything is played."""
        check_open(self.closed)
        learners, mode, n = self._learners, self.autoreset_mode, self.num_envs
        if isinstance(actions, str) or not hasattr(actions, "__len__"):
            raise InvalidAction(f"{actions!r}: give a sequence of {n} actions, one for each match.")
        if len(actions) != n:
            raise InvalidAction(f"{len(actions)} actions were given for {n} matches.")
        over = [i for i, learner in enumerate(learners) if learner.over]
        if over and mode is AutoresetMode.DISABLED:
            raise ResetNeeded(f"Matches {over} are over: call reset(options={{'reset_mask': …}}) before step().")
        live = [i for i, learner in enumerate(learners) if not learner.over]
        replies = [as_reply(actions[i], self.game) for i in live]
        given = [learners[i].give(reply) for i, reply in zip(live, replies, strict=True)]
        infos = self._begin(over, [None] * n, None, given)

        rewards = np.zeros(n)
        terminations, truncations = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        for i in live:
            self._shown[i], rewards[i], terminations[i], truncations[i], infos[i] = learners[i].outcome()
        self._steps[live] += 1
        for i in np.flatnonzero(self._steps >= self._limit).tolist():
            learners[i].over = truncations[i] = True
        done = [i for i in live if learners[i].over]
        self.ended = [played for i in done if (played := learners[i].played) is not None]
        for i in done:
            if (error := learners[i].table.error) is not None:
                warnings.warn(f"Match {i} of {n} broke off, the others go on. {error}", RuntimeWarning, stacklevel=2)
        batched: dict[str, Any] = {}
        if done and mode is AutoresetMode.SAME_STEP:
            batched = _finals({i: self._shown[i] for i in done}, {i: infos[i] for i in done}, n)
            infos |= self._begin(done, [None] * n, None)
        batched |= _batch(infos, n)
        self._show()
        return _stack(self.single_observation_space, self._shown), rewards, terminations, truncations, batched

    def _begin(
        self,
        which: Sequence[int],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None,
        others: Iterable[Table] = (),
    ) -> dict[int, dict[str, Any]]:
        """New matches in these places, which go on together with `others`; their infos."""
        new = []
        for i in which:
            self._steps[i] = 0
            seed, self._rngs[i] = fresh_seed(seeds[i], self._rngs[i])
            new.append(self._learners[i].begin(seed, self._options.seat_for(seed, options, ("reset_mask",))))
        advance([*others, *new])
        infos = {}
        for i in which:
            self._shown[i], infos[i] = self._learners[i].look()
        return infos

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise BadOption(f"seed: {len(seed)} seeds were given for {self.num_envs} matches.")
        return seed

    def _asked_for(self, options: dict[str, Any] | None) -> Sequence[int]:
        """The places that the options of a reset name: those of `reset_mask`, else all."""
        check_options(options, ("seat", "reset_mask"))
        if options is None or "reset_mask" not in options:
            return range(self.num_envs)
        mask = options["reset_mask"]
        if not (isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (self.num_envs,)):
            raise BadOption(f"reset_mask={mask!r}: give a NumPy array of {self.num_envs} bools.")
        if not mask.any():
            raise BadOption("reset_mask: at least one must be True.")
        if any(shown is None for shown in self._shown):
            raise ResetNeeded("There are no matches: call reset() without a reset_mask first.")
        return [int(i) for i in np.flatnonzero(mask)]

    def render(self) -> tuple[Any, ...]:
        """Each seat's own view of its match: returned for `ansi`, printed for `human`."""
        check_open(self.closed)
        return tuple(learner.render() for learner in self._learners)

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def action_masks(self) -> np.ndarray:
        """One int8 for each action of each match, shape `(num_envs, actions)`: 1 where it is legal now."""
        return np.stack([learner.mask() for learner in self._learners])

    @property
    def matches(self) -> tuple[Match | None, ...]:
        """The matches of these episodes, None where the engine could not begin it; their `events` are their records.
        To be looked at, not to be changed."""
        return tuple(getattr(learner.table, "match", None) for learner in self._learners)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise BadOption(f"{name}={value!r}: must be a whole number, 1 or more.")
    return int(value)


def _autoreset(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = ", ".join(repr(known.value) for known in AutoresetMode)
        raise BadOption(f"autoreset_mode={mode!r}: write {known}.") from None


def _stack(space: Space[Any], shown: Sequence[Any]) -> Any:
    """Observations side by side, in the batched space."""
    if isinstance(space, Dict):
        return {key: _stack(part, [one[key] for one in shown]) for key, part in space.items()}
    return tuple(shown) if isinstance(space, UnicodeText) else np.stack(shown)


def _batch(infos: Mapping[int, Mapping[str, Any]], n: int) -> dict[str, Any]:
    """Infos in Gymnasium's vector form: an array for each key, and its mask `_key`."""
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


def _finals(shown: Mapping[int, Any], infos: Mapping[int, Mapping[str, Any]], n: int) -> dict[str, Any]:
    """What matches ended with that others have followed in the same step."""
    seen, mask = np.full(n, None, object), np.zeros(n, np.bool_)
    for i, observation in shown.items():
        seen[i], mask[i] = observation, True
    return {"final_obs": seen, "_final_obs": mask, "final_info": _batch(infos, n), "_final_info": mask.copy()}
