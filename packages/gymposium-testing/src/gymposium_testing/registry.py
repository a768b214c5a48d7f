"""All checks of the kit in running order; later checks rely on earlier ones."""

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
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, raised
from gymposium_testing.parts import PluginPart

_CORE = Path(gymposium.__file__).parent
_KIT = Path(__file__).parent

Kind = Literal["spec", "game", "player", "reward", "logger", "executor"]
"""Kind of subject: a game's spec, a game made from one of its examples, or another part of a plugin."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the conformance kit."""

    family: str
    of: Kind
    function: Callable[[Any, int, Effort], None]

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def summary(self) -> str:
        """Requirement of the check, in a sentence or two."""
        return " ".join((self.function.__doc__ or "").split())

    def run(self, subject: GameSpec | Game | PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
        """Run the check. Raises `NotApplicable`, or `CheckFailed`, also in place of the subject's other errors."""
        try:
            self.function(subject, seed, effort)
        except (CheckFailed, NotApplicable, MissingExtra):
            raise
        except NotResumable as error:
            raise NotApplicable("a loaded match cannot be continued, since tools would return other results") from error
        except Exception as error:  # a plugin may raise anything
            raise CheckFailed(
                f"{get_blame_note(error)} {raised(error)}".lstrip(),
                where=f"{subject.name}, check {self.name}, {_line(error)}",
                do="fix the failing code: no protocol method may raise this error.",
            ) from error


def _line(error: Exception) -> str:
    """Return where an error was raised: the innermost line outside gymposium below the check, or else the innermost."""
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
    Check("spec", "spec", spec.spec_is_whole),
    Check("spec", "spec", spec.bad_parameters_are_refused),
    Check("spec", "spec", spec.bounds_can_be_played),
    Check("spec", "game", spec.game_is_what_its_spec_says),
    Check("spec", "game", spec.matches_are_what_the_spec_says),
    Check("seeds", "game", seeds.equal_seeds_give_equal_matches),
    Check("seeds", "game", seeds.other_matches_change_nothing),
    Check("seeds", "game", seeds.the_global_generators_are_left_alone),
    Check("seeds", "game", seeds.seeds_decide_what_chance_does),
    Check("moves", "game", moves.legal_lists_agree),
    Check("moves", "game", moves.moves_read_back),
    Check("moves", "game", moves.text_and_index_play_alike),
    Check("moves", "game", moves.wrong_seats_are_refused),
    Check("replies", "game", replies.hostile_replies_are_read),
    Check("replies", "game", replies.refused_moves_change_nothing),
    Check("hiding", "game", hiding.hiding_is_declared),
    Check("hiding", "game", hiding.open_games_hide_nothing),
    Check("hiding", "game", hiding.nothing_hidden_shows),
    Check("hiding", "game", hiding.pictures_show_nothing_hidden),
    Check("hiding", "game", hiding.everything_known_is_told),
    Check("hiding", "game", hiding.environments_show_nothing_hidden),
    Check("hiding", "game", hiding.sampled_worlds_are_possible),
    Check("hiding", "game", hiding.sampling_draws_alike),
    Check("pictures", "game", pictures.pictures_are_whole),
    Check("prompts", "game", prompts.rules_are_well_formed),
    Check("prompts", "game", prompts.prompts_are_whole),
    Check("prompts", "spec", prompts.parameters_are_told),
    Check("prompts", "spec", prompts.drawn_parameters_play),
    Check("returns", "game", returns.returns_stay_in_range),
    Check("returns", "game", returns.returns_are_of_their_kind),
    Check("returns", "game", returns.rewards_add_up),
    Check("replay", "game", replay.events_make_the_match),
    Check("replay", "game", replay.pieces_load_and_play_on),
    Check("replay", "game", replay.false_records_are_refused),
    Check("replay", "game", replay.records_verify),
    Check("forking", "game", forking.forks_stand_apart),
    Check("forking", "game", forking.later_chance_is_fresh),
    Check("forking", "game", forking.any_order_of_calls_is_fine),
    Check("environments", "game", environments.gymnasium_checks_it),
    Check("environments", "game", environments.pettingzoo_checks_it),
    Check("environments", "game", environments.pettingzoo_checks_it_in_parallel),
    Check("environments", "game", environments.pettingzoo_checks_its_seeds),
    Check("weight", "spec", weight.nothing_heavy_is_imported),
    Check("length", "game", length.random_matches_end),
    Check("players", "player", players.players_are_whole),
    Check("players", "player", players.players_answer_every_ask),
    Check("players", "player", players.equal_seeds_give_equal_replies),
    Check("players", "player", players.many_asks_at_once_change_nothing),
    Check("players", "player", players.players_leave_the_global_generators_alone),
    Check("rewards", "reward", rewards.rewards_are_finite),
    Check("rewards", "reward", rewards.forfeits_are_rewarded),
    Check("rewards", "reward", rewards.equal_groups_get_equal_rewards),
    Check("rewards", "reward", rewards.rewards_leave_the_global_generators_alone),
    Check("loggers", "logger", loggers.logger_settings_are_read),
    Check("loggers", "logger", loggers.loggers_take_numbers_and_text),
    Check("loggers", "logger", loggers.loggers_close_after_an_error),
    Check("loggers", "logger", loggers.loggers_go_on_after_a_resume),
    Check("executors", "executor", executors.executors_play_as_one_process),
    Check("executors", "executor", executors.executors_go_on_after_a_run_was_left),
    Check("executors", "executor", executors.executors_call_functions),
)


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing to check: the spec of a game, a game with certain parameters, a player, a reward, a logger
    or an executor."""

    name: str
    of: Kind
    load: Callable[[], GameSpec | Game | PluginPart]

    @property
    def label(self) -> str:
        """Name for reports, with the kind unless it is a game: `nim (spec)`, `nim(sticks=4)`, `mcts-5 (player)`."""
        return self.name if self.of == "game" else f"{self.name} ({self.of})"

    def checks(self) -> Iterator[Check]:
        """Return the checks for this kind of subject."""
        return (check for check in CHECKS if check.of == self.of)

    def get(self) -> GameSpec | Game | PluginPart:
        """Load the subject to check. Raises `CheckFailed` if a game cannot be made."""
        try:
            return self.load()
        except Exception as error:  # a plugin may raise anything
            raise CheckFailed(
                f"the game cannot be made: {raised(error)}",
                where=f"{self.name}, {_line(error)}",
                do="let the spec's entry_point name a callable that takes (spec, params) and returns the game.",
            ) from error
