"""One match of a task: its seats, its replies, and the facts for its result."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.games.protocol import CHANCE, Game, Match
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.ending import OVER
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium_affinetes.tasks import Task
from gymposium_affinetes.watching import WatchedPlayer
from gymposium_agents.players.api_player import ChatTurn

RETRIES = FailurePolicy("retry", 2)
"""Up to two more replies per decision, as in affinetes; then the match is lost."""


@dataclass(slots=True)
class Table:
    """A prepared match. One thread plays it, and another thread may cancel it."""

    task: Task
    game: Game
    seat: int
    """The model's seat."""
    seed: int
    model: WatchedPlayer
    others: WatchedPlayer
    """The player in all other seats, with a separate random stream in each."""

    @classmethod
    def set_up(cls, task: Task, seed: int, model: Player, opponent: str) -> Table:
        """Return the match for a task and a seed. The model's seat is the seed modulo the number of seats. The opponent
        is `mcts`, with the task's number of simulations, or any gymposium player."""
        game = task.load()
        others = WatchedPlayer(make_player(task.name_player(opponent)))
        return cls(task, game, seed % game.seats, seed, WatchedPlayer(model), others)

    def play(self) -> tuple[MatchResult | None, str | None]:
        """Play the match. Returns its result, or None and the error that interrupted it."""
        players = [self.model if seat == self.seat else self.others for seat in range(self.game.seats)]
        match_id = f"affinetes-{secrets.token_hex(6)}"  # players see the id, so it must not contain the seed
        try:
            (played,) = play([MatchJob(match_id, self.game, players, self.seed, on_illegal=RETRIES)])
        except GymposiumError as error:
            return None, str(error)
        failure = played.ending.find_failure(self.seat)
        if failure is not None and failure.kind == "out of context":
            return None, (
                "The prompt left no space for a reply in the model's context. If the conversation has outgrown it, use "
                "a shorter context= (state, last-4), or else a model with a larger context."
            )
        return played, None

    def give_up(self) -> None:
        """Cancel `play`."""
        self.model.give_up()
        self.others.give_up()

    def extra(self, played: MatchResult | None) -> dict[str, Any]:
        """Return affinetes' `extra` fields for the result, or for the match so far if there is no result."""
        history, match = ([], None) if played is None else _replay_history(played, self.seat)
        utilities = list(played.utilities) if played is not None and played.ending == OVER else None
        turns = [reply.trace for reply in self.model.replies if isinstance(reply.trace, ChatTurn)]
        messages = [(turn.messages[-1], {"role": "assistant", "content": turn.completion.text}) for turn in turns]
        fields: dict[str, Any] = {
            "conversation": [dict(message) for message in chain.from_iterable(messages)],
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
            "usage": _sum_usage(turns),
        }
        if self.others.name.startswith("mcts-") and self.game.seats > 1:
            fields["mcts_timing"] = {
                "total_mcts_time": self.others.seconds,
                "total_mcts_calls": self.others.calls,
                "avg_mcts_time_per_call": self.others.seconds / max(1, self.others.calls),
                "num_mcts_bots": self.game.seats - 1,
            }
        return fields


def _replay_history(played: MatchResult, seat: int) -> tuple[list[dict[str, Any]], Match]:
    """Return all seats' moves with their numbers in the game's action space, and the match after them."""
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


def _sum_usage(turns: Sequence[ChatTurn]) -> dict[str, int]:
    prompt = sum(turn.completion.prompt_tokens or 0 for turn in turns)
    completion = sum(turn.completion.completion_tokens or 0 for turn in turns)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
