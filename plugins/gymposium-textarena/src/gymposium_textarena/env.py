"""gymposium games as TextArena environments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import textarena as ta
from textarena.envs.registration import ENV_REGISTRY, register_with_versions

from gymposium import Table, load_game
from gymposium.errors import BadOption, UnexpectedReply, WrongType
from gymposium.games.protocol import Game, Observation, Style
from gymposium.match import MatchResult
from gymposium.match.failures import FailurePolicy
from gymposium.match.score import match_score
from gymposium.players.grammar import make_opponents
from gymposium.players.protocol import Player
from gymposium.plugins.host import host
from gymposium.records import Record
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader

PREFIX = "gymposium:"


class GymposiumEnv(ta.Env):  # type: ignore[misc]  # TextArena publishes no types
    """A gymposium game as a TextArena environment.

    Each player's first message has the rules. Each turn adds a `GAME_BOARD` message with the position, the legal moves
    and instructions; after a failed reply it begins with the reason. Only its own player sees the text of a reply.

    Rewards have TextArena's scale. Two competing players get 1, 0 or -1, and more than two get from -1 to 1 by rank.
    Single and cooperating players get from 0 to 1. A forfeit gets -1.
    """

    def __init__(
        self,
        game: str | Game,
        *,
        players: Mapping[int, str | Player] | None = None,
        on_illegal: str = "retry(1)",
        reply: str = "move",
        prompt: Style = "full",
        name: str = "textarena",
    ) -> None:
        """`game` is a name or a `Game`. `players` maps seats to gymposium players, who are never the current player.
        `on_illegal`, `reply` and `prompt` are as in `gymposium.Table`. The default policy allows one retry, as in
        TextArena's games. `name` is the name of all other seats in the record.

        Raises `BadOption` and `UnknownName` for invalid arguments."""
        self.game = load_game(game) if isinstance(game, str) else game
        given = dict(players or {})
        for seat in given:
            if seat not in range(self.game.seats):
                raise BadOption(f"players: {self.game.name} has seats 0 to {self.game.seats - 1}, not {seat!r}.")
        if len(given) == self.game.seats:
            raise BadOption(
                "players: leave a seat to an agent. To play matches without agents, use gymposium.match.play."
            )
        if _has_one_result(self.game) and not all(map(math.isfinite, self.game.utility_range)):
            least, greatest = self.game.utility_range
            raise BadOption(
                f"{self.game.name} pays from {least:g} to {greatest:g}, which cannot be scaled to TextArena's range. "
                "Choose another game."
            )
        self._seats = [seat for seat in range(self.game.seats) if seat not in given]
        self._opponents = make_opponents([given[seat] for seat in sorted(given)], len(given))
        policy = FailurePolicy.parse(on_illegal)
        self._options: dict[str, Any] = {"on_illegal": policy, "reply": reply, "prompt": prompt, "name": name}
        self._prompt = get_prompt(self.game, prompt, get_reader(reply))
        self._table: Table | None = None
        self._state: Any = None
        self._ended_in_reset = False

    @property
    def table(self) -> Table:
        """The match. Raises `UnexpectedReply` before the first reset."""
        if self._table is None:
            raise UnexpectedReply(f"No episode has begun. Call reset(num_players={self.game.seats}).")
        return self._table

    @property
    def state(self) -> Any:
        """TextArena's state of the episode, which wrappers read. Raises `UnexpectedReply` before the first reset."""
        _ = self.table
        return self._state

    def record(self) -> Record:
        """Return the record of the match. Raises `GymposiumError` before its end."""
        return self.table.record()

    def reset(self, num_players: int, seed: int | None = None) -> None:
        """Begin an episode. `num_players` must be the game's number of seats. No global generator is seeded.

        Raises `BadOption` for another number, and the errors of `gymposium.Table`."""
        if num_players != self.game.seats:
            raise BadOption(
                f"num_players={num_players!r}: {self.game.name} has {self.game.seats} seats. Pass that number."
            )
        self._table = Table(self.game, seats=self._seats, opponents=self._opponents, seed=seed, **self._options)
        self._state = ta.State(num_players)  # given the seed, it would seed Python's global generator
        self._state.standard_resets(
            player_prompt_function=self._make_rules,
            role_mapping={seat: f"Player {seat}" for seat in range(num_players)},
        )
        self._ended_in_reset = self.table.over
        self._show()

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play the current player's reply, and continue until the next reply is needed. If the gymposium players ended
        the match before any other seat was asked, the first step only reports the end.

        Raises `UnexpectedReply` after the end, `WrongType` for an action that is not text, and the errors of
        `Table.answer`."""
        table, state = self.table, self.state
        if not isinstance(action, str):
            raise WrongType("An action", "text", action)
        if table.over and not self._ended_in_reset:
            raise UnexpectedReply("The episode is over. Call reset() to start another.")
        if not table.over:
            seat = state.current_player_id
            table.answer(seat, action)
            state.add_observation(action, ta.ObservationType.PLAYER_ACTION, from_id=seat, to_id=seat)
            self._show()
        self._ended_in_reset = False
        done: tuple[bool, dict[str, Any]] = state.step()
        return done

    def _make_rules(self, player_id: int, game_state: Any) -> str:
        """Return the rules part of a seat's prompt."""
        nothing = Observation(player_id, "", None)
        return self._prompt(nothing).removesuffix(self._prompt(nothing, rules=False))

    def _show(self) -> None:
        """Show the position to the seat to move, or end the episode."""
        table, state = self.table, self.state
        for seat, info in state.game_info.items():
            info["turn_count"] = sum(turn.seat == seat and turn.reading == "move" for turn in table.turns)
        if table.played is None:
            asked = table.asked[0]
            state.current_player_id = asked.seat
            text = self._prompt(asked.ask.observe(self._prompt.style), asked.ask.reason, rules=False)
            state.add_observation(text, ta.ObservationType.GAME_BOARD, to_id=asked.seat)
        else:
            if self._ended_in_reset:
                state.current_player_id = self._seats[0]
            self._end(table.played)

    def _end(self, played: MatchResult) -> None:
        """Set rewards and infos as TextArena's games do."""
        state, reason = self.state, played.ending.describe("Player {}".format)
        state.add_observation(reason, ta.ObservationType.GAME_BOARD)
        for seat, info in state.game_info.items():
            failure = played.ending.find_failure(seat)
            info["reason"] = reason
            info["invalid_move"] = failure is not None and failure.kind == "no legal move"
            info["return"] = played.returns[seat]
        state.rewards = {seat: compute_reward(played, seat) for seat in range(self.game.seats)}
        state.done = True


def compute_reward(played: MatchResult, seat: int) -> float:
    """Return a seat's reward on TextArena's scale (`GymposiumEnv`), without penalties for failed replies."""
    forfeit = played.ending.seat
    if seat == forfeit:
        return -1.0
    score = match_score(played.job.game, played.utilities, seat, forfeit)
    return score if _has_one_result(played.job.game) else 2.0 * score - 1.0


def register_games(*names: str) -> list[str]:
    """Register games (all by default) with TextArena, and return their ids.

    `kuhn_poker` becomes `gymposium:kuhn_poker`, and `gymposium:kuhn_poker-raw` without a wrapper.
    `textarena.make(id, players={1: "mcts-100"})` passes keywords to `GymposiumEnv`. The wrapper shows the rules and the
    newest position, or the whole conversation in games with incremental positions, such as worlds.

    Raises `UnknownName` and `BadParameter` for invalid names."""
    specs = {name: load_game(name).spec for name in names} or dict(host().games)
    for name, spec in specs.items():
        if f"{PREFIX}{name}" not in ENV_REGISTRY:
            grows = spec.tools or spec.recorded
            wrapper = ta.wrappers.LLMObservationWrapper if grows else ta.wrappers.GameBoardObservationWrapper
            register_with_versions(f"{PREFIX}{name}", GymposiumEnv, {"default": [wrapper]}, game=name)
    return [f"{PREFIX}{name}" for name in specs]


def _has_one_result(game: Game) -> bool:
    """Return whether all seats share one result."""
    return game.seats == 1 or game.spec.utility == "cooperative"
