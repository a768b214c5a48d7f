"""OpenSpiel bots as players: the player `openspiel-bot:NAME`, and `BotPlayer` for any `pyspiel.Bot`.

A bot gets the engine's state, including hidden information. So it plays only OpenSpiel games with perfect information,
and rejects other games before the first move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.errors import BadOption, GymposiumError, UnknownName
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.plugins.names import format_name, parse_name
from gymposium.replies.reading import READERS, Reader

MakeBot = Callable[[pyspiel.Game, int, int], pyspiel.Bot]
"""A factory that creates a bot from the engine's game, the seat, and a seed for all of its randomness."""


class BotPlayer:
    """A player that asks an OpenSpiel bot, one per seat and match.

    The bot is informed of every move and chance outcome, as in OpenSpiel's `evaluate_bots`. It is created at the seat's
    first turn, with a seed from the seat's random stream, so equal seeds give equal matches."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def __init__(self, make_bot: MakeBot, name: str) -> None:
        """`name` is the name in records: `openspiel-bot:my_bot`."""
        self.name = name
        self._make_bot = make_bot

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` with the reason if a bot must not play this game."""
        why = None
        if not isinstance(game, OpenSpielGame):
            why = "it is not a game of OpenSpiel"
        elif game.hides:
            why = "a bot gets the true state, and in this game seats hide something from each other"
        elif not isinstance(game.start(), pyspiel.State):
            why = "it adds rules to those of OpenSpiel, which a bot does not know"
        if why is not None:
            raise BadOption(f"{self.name} does not play {game.name}: {why}. Use another player, such as mcts-100.")

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        self.check_game(ask.game)
        _, (world,) = ask.sampler.worlds(1, ask.rng)
        assert isinstance(world, OpenSpielMatch), "check_game lets no other game pass"
        seated = ask.memory.get("bot")
        if seated is None:
            bot = self._make_bot(world.game.engine, ask.seat, ask.rng.getrandbits(31))
            seated = ask.memory["bot"] = _SeatedBot(bot, world, ask.seat)
        try:
            action = seated.step(world.state)
        except pyspiel.SpielError as error:
            raise GymposiumError(
                f"{self.name} failed in seat {ask.seat} of {ask.game.name}: {str(error).rstrip('.')}. Use another "
                "player."
            ) from error
        if action in (actions := ask.legal_actions):
            return Reply((ask.legal_moves or [])[actions.index(action)])
        return Reply(str(action), action=action)


class _SeatedBot:
    """A bot in one seat, with the last state it was informed of."""

    def __init__(self, bot: pyspiel.Bot, world: OpenSpielMatch, seat: int) -> None:
        self._bot, self._seat = bot, seat
        if any(event.seat == seat for event in world.events):  # moves in an opening, which the bot did not make
            self._known = world.state.clone()
            bot.restart_at(self._known)
        else:
            self._known = world.game.start()
            bot.restart()

    def step(self, state: pyspiel.State) -> int:
        """Inform the bot of everything since its last turn, and return its action."""
        known, actions = self._known, state.history()
        while len(at := known.history()) < len(actions):
            if known.is_simultaneous_node():
                joint = actions[len(at) : len(at) + known.num_players()]
                self._bot.inform_actions(known, joint)
                known.apply_actions(joint)
                continue
            mover, action = known.current_player(), actions[len(at)]
            if mover != self._seat:
                self._bot.inform_action(known, mover, action)
            known.apply_action(action)
        return int(self._bot.step(state))


def make_named_bot(bot: str) -> BotPlayer:
    """Return the player `openspiel-bot:NAME`: a registered OpenSpiel bot with its parameters.

    Raises `UnknownName` if OpenSpiel registers no such bot."""
    short, written = parse_name(bot)
    if not pyspiel.is_bot_registered(short):
        raise UnknownName("OpenSpiel bot", short, pyspiel.registered_bots())
    params = {key: _parse_value(text) for key, text in written.items()}

    def make_bot(game: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
        return _load_bot(short, game, seat, {"seed": seed, **params})

    return BotPlayer(make_bot, f"openspiel-bot:{format_name(short, written)}")


def _load_bot(short: str, game: pyspiel.Game, seat: int, params: Mapping[str, Any]) -> pyspiel.Bot:
    if short not in pyspiel.bots_that_can_play_game(game, seat):
        raise BadOption(
            f"OpenSpiel's bot {short} cannot play {game} as player {seat}. Use another player, such as mcts-100."
        )
    try:
        return pyspiel.load_bot(short, game, seat, dict(params))
    except pyspiel.SpielError as error:
        raise BadOption(
            f"OpenSpiel rejected the bot {short} with the parameters {dict(params)}: {str(error).rstrip('.')}. Correct "
            "them."
        ) from error


def _parse_value(text: str) -> int | float | bool | str:
    """Parse a parameter's value as OpenSpiel does."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
