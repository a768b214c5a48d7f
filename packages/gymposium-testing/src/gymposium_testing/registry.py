"""All checks of the kit, in running order. Later checks rely on earlier ones."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gymposium
from gymposium.errors import MissingExtra, NotResumable
from gymposium.games.protocol import Game
from gymposium.players.asking import get_blame_note
from gymposium.plugins.specs import GameSpec
from gymposium_testing.checks import (
    environments,
    executors,
    exploits,
    forking,
    hiding,
    length,
    loggers,
    moves,
    pictures,
    players,
    prompts,
    replay,
    replies,
    returns,
    rewards,
    seeds,
    spec,
    weight,
)
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, format_error
from gymposium_testing.parts import PluginPart

_CORE = Path(gymposium.__file__).parent
_KIT = Path(__file__).parent

Kind = Literal["spec", "game", "player", "reward", "logger", "executor"]
"""The kind of subject: a game's spec, a game made from an example, or another part of a plugin."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check of the conformance kit."""

    family: str
    kind: Kind
    function: Callable[[Any, int, Effort], None]

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def summary(self) -> str:
        """What the check requires, from its docstring."""
        return " ".join((self.function.__doc__ or "").split())

    def run(self, subject: GameSpec | Game | PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
        """Run the check. Raises `NotApplicable`, or `CheckFailed` for a violation or any other error."""
        try:
            self.function(subject, seed, effort)
        except (CheckFailed, NotApplicable, MissingExtra):
            raise
        except NotResumable as error:
            raise NotApplicable("a loaded match cannot be continued, since tools would return other results") from error
        except Exception as error:  # a plugin may raise anything
            raise CheckFailed(
                f"{get_blame_note(error)} {format_error(error)}".lstrip(),
                where=f"{subject.name}, check {self.name}, {_locate_error(error)}",
                fix="fix the failing code: no protocol method may raise this error.",
            ) from error


def _locate_error(error: Exception) -> str:
    """Return where an error was raised: the innermost line outside gymposium, or else the innermost line."""
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)  # an EngineError has the error as its cause
    theirs: list[traceback.FrameSummary] = []
    for frame in frames:
        if Path(frame.filename).is_relative_to(_KIT):
            theirs.clear()
        elif not Path(frame.filename).is_relative_to(_CORE):
            theirs.append(frame)
    frame = (theirs or frames)[-1]
    return f"{frame.name} in {frame.filename}, line {frame.lineno}"


CHECKS: tuple[Check, ...] = (
    Check("spec", "spec", spec.spec_is_complete),
    Check("spec", "spec", spec.bad_parameters_are_rejected),
    Check("spec", "spec", spec.parameter_bounds_are_playable),
    Check("spec", "game", spec.game_follows_its_spec),
    Check("spec", "game", spec.matches_follow_the_spec),
    Check("seeds", "game", seeds.equal_seeds_give_equal_matches),
    Check("seeds", "game", seeds.matches_are_independent),
    Check("seeds", "game", seeds.games_leave_global_generators_alone),
    Check("seeds", "game", seeds.seeds_determine_chance),
    Check("moves", "game", moves.legal_moves_match_indices),
    Check("moves", "game", moves.moves_parse_as_themselves),
    Check("moves", "game", moves.text_and_index_are_equivalent),
    Check("moves", "game", moves.wrong_seats_are_rejected),
    Check("replies", "game", replies.hostile_replies_are_classified),
    Check("replies", "game", replies.illegal_moves_change_nothing),
    Check("hiding", "game", hiding.hidden_information_is_declared),
    Check("hiding", "game", hiding.perfect_information_hides_nothing),
    Check("hiding", "game", hiding.hidden_information_stays_hidden),
    Check("hiding", "game", hiding.pictures_leak_nothing),
    Check("hiding", "game", hiding.prompts_tell_everything_known),
    Check("hiding", "game", hiding.environments_leak_nothing),
    Check("hiding", "game", hiding.sampled_worlds_are_consistent),
    Check("hiding", "game", hiding.sampling_leaks_nothing),
    Check("pictures", "game", pictures.pictures_are_valid),
    Check("prompts", "game", prompts.rules_are_well_formed),
    Check("prompts", "game", prompts.prompts_are_complete),
    Check("prompts", "spec", prompts.prompts_state_the_parameters),
    Check("prompts", "spec", prompts.random_parameters_are_playable),
    Check("returns", "game", returns.returns_stay_in_range),
    Check("returns", "game", returns.returns_match_the_utility),
    Check("returns", "game", returns.rewards_sum_to_returns),
    Check("exploits", "game", exploits.null_agents_earn_nothing),
    Check("replay", "game", replay.events_reproduce_the_match),
    Check("replay", "game", replay.prefixes_load_and_continue),
    Check("replay", "game", replay.invalid_records_are_rejected),
    Check("replay", "game", replay.records_verify),
    Check("forking", "game", forking.forks_are_independent),
    Check("forking", "game", forking.forks_draw_fresh_chance),
    Check("forking", "game", forking.calls_work_in_any_order),
    Check("environments", "game", environments.gymnasium_check_env_passes),
    Check("environments", "game", environments.pettingzoo_api_test_passes),
    Check("environments", "game", environments.pettingzoo_parallel_api_test_passes),
    Check("environments", "game", environments.pettingzoo_seed_test_passes),
    Check("weight", "spec", weight.heavy_imports_are_absent),
    Check("length", "game", length.random_matches_end),
    Check("players", "player", players.players_are_complete),
    Check("players", "player", players.players_answer_every_ask),
    Check("players", "player", players.equal_seeds_give_equal_replies),
    Check("players", "player", players.batching_changes_nothing),
    Check("players", "player", players.players_leave_global_generators_alone),
    Check("players", "player", players.recommendations_leak_nothing),
    Check("rewards", "reward", rewards.rewards_are_finite),
    Check("rewards", "reward", rewards.forfeits_are_rewarded),
    Check("rewards", "reward", rewards.equal_groups_get_equal_rewards),
    Check("rewards", "reward", rewards.rewards_leave_global_generators_alone),
    Check("loggers", "logger", loggers.logger_settings_are_valid),
    Check("loggers", "logger", loggers.loggers_accept_numbers_and_text),
    Check("loggers", "logger", loggers.loggers_close_after_an_error),
    Check("loggers", "logger", loggers.loggers_continue_after_a_resume),
    Check("executors", "executor", executors.executors_match_one_process),
    Check("executors", "executor", executors.executors_survive_an_abandoned_run),
    Check("executors", "executor", executors.executors_call_functions),
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject to check: a game's spec, a game, a player, a reward, a logger or an executor."""

    name: str
    kind: Kind
    load: Callable[[], GameSpec | Game | PluginPart]

    @property
    def label(self) -> str:
        """The name in reports, including the kind unless it is a game: `nim (spec)`, `nim(sticks=4)`, `mcts-5
        (player)`."""
        return self.name if self.kind == "game" else f"{self.name} ({self.kind})"

    def checks(self) -> Iterator[Check]:
        """Return the checks for this kind of subject."""
        return (check for check in CHECKS if check.kind == self.kind)

    def get(self) -> GameSpec | Game | PluginPart:
        """Load the subject. Raises `CheckFailed` if a game cannot be made."""
        try:
            return self.load()
        except Exception as error:  # a plugin may raise anything
            raise CheckFailed(
                f"the game cannot be made: {format_error(error)}",
                where=f"{self.name}, {_locate_error(error)}",
                fix="let the spec's entry_point name a callable that takes (spec, params) and returns the game.",
            ) from error
