"""One match of a task: who sits where, how it is played, and what is told of it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.driver import MatchJob, MatchResult, play
from gymposium.ending import OVER
from gymposium.errors import GymposiumError
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import CHANCE, Game, Match
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium_agents.affinetes.scores import score
from gymposium_agents.affinetes.tasks import Task
from gymposium_agents.affinetes.watching import Watched
from gymposium_agents.api_player import ChatTurn

RETRIES = FailurePolicy("retry", 2)
"""Up to two further replies to one decision, as in affinetes; then the match is lost."""


def opponent_named(name: str, task: Task) -> Player:
    """`mcts` at the strength that the task's game has, or any player by gymposium's grammar."""
    if name != "mcts":
        return make_player(name)
    simulations = task.family.simulations
    return make_player("random" if simulations is None else f"mcts-{simulations}")


@dataclass(slots=True)
class Table:
    """A match that is set up. One thread plays it; another may give it up."""

    task: Task
    game: Game
    seat: int
    """The model's."""
    seed: int
    model: Watched
    others: Watched
    """Who takes all other seats; each has its own stream there."""

    @classmethod
    def lay(cls, task: Task, seed: int, model: Player, opponent: str) -> Table:
        """The model's seat follows from the seed, in any number of seats."""
        game = task.load()
        others = Watched(opponent_named(opponent, task))
        return cls(task, game, seed % game.seats, seed, Watched(model), others)

    def play(self) -> tuple[MatchResult | None, str | None]:
        """The match, or what kept it from its end."""
        players = [self.model if seat == self.seat else self.others for seat in range(self.game.seats)]
        try:
            # players are shown the id, so it must not tell the seed
            match_id = f"affinetes-{secrets.token_hex(6)}"
            (played,) = play([MatchJob(match_id, self.game, players, self.seed, on_illegal=RETRIES)])
        except GymposiumError as error:
            return None, str(error)
        failure = played.ending.failure_of(self.seat)
        if failure is not None and failure.kind == "out of context":
            return None, (
                "The prompt left no room for a reply in the model's context. Where it is the conversation that has "
                "outgrown it, a shorter context= helps (state, last-4); else take a model that reads more."
            )
        return played, None

    def give_up(self) -> None:
        """Nobody waits any more."""
        self.model.give_up()
        self.others.give_up()

    def told(self, played: MatchResult | None) -> dict[str, Any]:
        """affinetes' `extra`, as far as the match came."""
        history, match = ([], None) if played is None else _history(played, self.seat)
        over = played is not None and played.ending == OVER
        utilities = list(played.utilities) if played is not None and over else None
        told: dict[str, Any] = {
            "conversation": _conversation(self.model),
            "action_history": history,
            "observation": None if match is None else match.observe(self.seat, "full").text,
            "task_type": self.task.family.name,
            "game_name": self.task.family.name,
            "game": self.game.name,
            "llm_player_id": self.seat,
            "opponent": self.others.name if self.game.seats > 1 else None,
            "final_return": None if utilities is None else utilities[self.seat],
            "all_returns": utilities,
            "forfeit": None if played is None else played.ending.seat,
            "readings": [] if played is None else [turn.reading for turn in played.turns if turn.seat == self.seat],
            "usage": _usage(self.model),
        }
        if self.others.name.startswith("mcts-") and self.game.seats > 1:
            told["mcts_timing"] = {
                "total_mcts_time": self.others.seconds,
                "total_mcts_calls": self.others.calls,
                "avg_mcts_time_per_call": self.others.seconds / max(1, self.others.calls),
                "num_mcts_bots": self.game.seats - 1,
            }
        return told

    def score(self, played: MatchResult) -> float:
        """From 0 to 1. A model that could not be read, after its retries, has 0."""
        if played.ending.seat == self.seat:
            return 0.0
        return score(played.utilities, self.seat, self.game.spec.utility, *self.task.utility_range)


def _history(played: MatchResult, seat: int) -> tuple[list[dict[str, Any]], Match]:
    """Every seat's moves with their numbers in the game's action space, and the match as they leave it."""
    job = played.job
    match = job.game.new(job.seed)
    history: list[dict[str, Any]] = []
    moves = [event for event in played.events if event.seat != CHANCE]
    while moves:
        now, moves = moves[: len(match.to_move())], moves[len(match.to_move()) :]
        for mover, move in now:
            legal, actions = match.legal_moves(mover) or [], match.legal_actions(mover)
            action = actions[legal.index(move)]
            history.append({"player_id": mover, "action": action, "action_str": move, "is_llm": mover == seat})
        match.apply(dict(now))
    return history, match


def _turns(model: Watched) -> Sequence[ChatTurn]:
    return [reply.trace for reply in model.replies if isinstance(reply.trace, ChatTurn)]


def _conversation(model: Watched) -> list[dict[str, str]]:
    """What the model was told, each time, and what it said."""
    said: list[dict[str, str]] = []
    for turn in _turns(model):
        said += dict(turn.messages[-1]), {"role": "assistant", "content": turn.completion.text}
    return said


def _usage(model: Watched) -> dict[str, int]:
    completions = [turn.completion for turn in _turns(model)]
    prompt = sum(completion.prompt_tokens or 0 for completion in completions)
    completion = sum(completion.completion_tokens or 0 for completion in completions)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
