"""gymposium players as TextArena agents, in TextArena's own games."""

from __future__ import annotations

import textarena as ta

from gymposium import GameSpec
from gymposium.envs.table import make_match_id
from gymposium.errors import BadOption, NoSampler, WrongType
from gymposium.games.one_reply import OneReplyGame, OneReplyMatch
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.match import Turn
from gymposium.players.asking import ask_player
from gymposium.players.grammar import make_opponents
from gymposium.players.protocol import MatchContext, Player
from gymposium.replies.reading import bind_reader, read_reply


class TextArenaAgent(ta.Agent):  # type: ignore[misc]  # TextArena publishes no types
    """A gymposium player as an agent in one episode of one of TextArena's own games.

    The player gets text without a list of legal moves, so it must be a language model or a person. The agent remembers
    earlier turns, so create a new one for each seat in each episode. Only the submitted move becomes the action,
    because TextArena would show thoughts to other players. An unparsable reply becomes the empty action.

    For gymposium's games, use `GymposiumEnv(players=…)` instead.
    """

    def __init__(self, player: str | Player, *, seed: int = 0) -> None:
        """`player` is a name or a player, `seed` the seed of its random stream.

        Raises `UnknownName` for an unknown name, and `BadOption` for a player that replies with tool calls."""
        [self.player] = make_opponents(player, 1)
        self._reader = bind_reader(self.player.reader, (), _GAME.name)
        self._context = MatchContext(_GAME.new(seed), make_match_id(_GAME.name), seed)
        self.turns: list[Turn] = []
        """The replies so far, with their readings and traces."""

    def __call__(self, observation: str) -> str:
        """Return the action for an observation. Raises `WrongType` unless it is text, `BadOption` if the player needs a
        list of moves, and the player's errors."""
        if not isinstance(observation, str):
            raise WrongType("An observation", "text, as of textarena.wrappers.LLMObservationWrapper", observation)
        self._context.match = _GAME.make_match(Event(CHANCE, observation), None)
        try:
            [reply] = ask_player(self.player, [self._context.ask(0)])
        except (BadOption, NoSampler) as error:
            raise BadOption(
                f"{self.player.name} does not play TextArena's own games, which give players text but no list of "
                f"moves. Use a language model, such as lm:MODEL or api:MODEL, or a person."
            ) from error
        cut_off = reply.finish_reason != "stop"
        reading = read_reply(reply.text, None, self._reader, None, cut_off=cut_off)
        self.turns.append(Turn(0, reading.kind, reply.text, reply.trace, usage=reply.usage))
        return reading.move or ""


class _ObservationGame(OneReplyGame):
    """An agent's game. Each observation is a task that is answered with text."""

    task_noun = "observation"

    def rules(self, seat: int, style: Style = "full") -> str:
        return ""

    def new(self, seed: int) -> OneReplyMatch:
        return self.make_match(Event(CHANCE, ""), seed)

    def make_match(self, drawn: Event, seed: int | None) -> OneReplyMatch:
        return _ObservationMatch(self, drawn, seed)


class _ObservationMatch(OneReplyMatch):
    """One observation."""

    def observe(self, seat: int, style: Style = "full") -> Observation:
        text = self.view(seat)
        return Observation(seat, text if text.endswith("\n") else f"{text}\n", None)

    def view(self, seat: int) -> str:
        return self.events[0].move

    def returns(self) -> tuple[float, ...]:
        return (0.0,)


_GAME = _ObservationGame(
    GameSpec(
        name="textarena",
        title="TextArena",
        summary="One seat of a game of TextArena.",
        entry_point="gymposium_textarena.agent:TextArenaAgent",
        seats=1,
        chance=True,
        utility="score",
        free_text=True,
    ),
    {},
)
