"""Players as OpenSpiel bots: `PlayerBot`, for `pyspiel.evaluate_bots` and other OpenSpiel loops."""

from __future__ import annotations

import pyspiel

from gymposium.errors import BadOption, BadRecord, GymposiumError
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.openspiel.lookup import load_by_engine_name
from gymposium.games.registry import load_game
from gymposium.match.failures import FailurePolicy, FailureTally
from gymposium.players.asking import ask_player
from gymposium.players.grammar import make_opponents
from gymposium.players.protocol import Ask, MatchContext, Player, check_plays, list_legal_moves
from gymposium.replies.reading import Reading, bind_reader, read_action, read_reply
from gymposium.util.streams import derive_seed, stream


class PlayerBot(pyspiel.Bot):  # type: ignore[misc]  # pyspiel publishes no types
    """A gymposium player in one seat of an OpenSpiel game, as a `pyspiel.Bot`.

    The player is asked with text and sees only what its seat may see, so it also plays games with hidden information.
    It works in any loop that calls `step`::

        bots = [PlayerBot("mcts-100", game, 0, seed=7), PlayerBot("random", game, 1, seed=7)]
        pyspiel.evaluate_bots(game.new_initial_state(), bots, 7)

    Each of a bot's matches has a different seed, derived from `seed`."""

    def __init__(
        self,
        player: str | Player,
        game: pyspiel.Game | OpenSpielGame | str,
        player_id: int,
        *,
        seed: int,
        on_illegal: str | FailurePolicy = "forfeit",
    ) -> None:
        """`game` is an OpenSpiel game, a gymposium game or its name.

        The player reads that game's text. `on_illegal` is the policy for illegal replies: `forfeit` raises the reason,
        because an OpenSpiel bot cannot forfeit; `retry(n)` asks again first; `random` plays a random legal move.

        Raises `BadOption` for other policies, for an invalid seat, and for a game whose rules differ from
        OpenSpiel's."""
        super().__init__()
        (self.player,) = make_opponents(player, 1)
        self.game = _load_game(game)
        if player_id not in range(self.game.seats):
            raise BadOption(f"player_id={player_id!r} must be a seat of {self.game.name}, 0 to {self.game.seats - 1}.")
        self.policy = on_illegal if isinstance(on_illegal, FailurePolicy) else FailurePolicy.parse(on_illegal)
        if self.policy.kind == "penalty":
            raise BadOption(
                f"on_illegal={self.policy} is not supported: a bot has no penalties. Use forfeit, retry(n) or random."
            )
        check_plays(self.player, self.game)
        self._seat, self._seed, self._number = player_id, seed, 0
        self._context: MatchContext | None = None

    def restart(self) -> None:
        """Forget the match. The next `step` begins another one."""
        self._context = None

    def restart_at(self, state: pyspiel.State) -> None:
        """Forget the match. The next `step` begins a match at `state` or later."""
        self._context = None

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Do nothing: `step` reads the history of its state."""

    def inform_actions(self, state: pyspiel.State, actions: list[int]) -> None:
        """Do nothing: `step` reads the history of its state."""

    def step(self, state: pyspiel.State) -> int:
        """Return the player's action in this state, where its seat is to move.

        Raises `GymposiumError` if the player gives no legal move."""
        context = self._advance_to(state)
        tally = FailureTally(self.policy)
        reason = None
        while True:
            ask = context.ask(self._seat, reason)
            legal = list_legal_moves(ask) or []
            reading = self._read_reply(ask, legal)
            if reading.kind == "move" and reading.move is not None:
                return ask.legal_actions[legal.index(reading.move)]
            reason = reading.reason(legal)
            match tally.count_failure(self._seat, can_draw=True):
                case "random":
                    rng = stream(ask.seed, "random move", self._seat, ask.turn)
                    return ask.legal_actions[int(rng.random() * len(legal))]
                case "forfeit":
                    raise GymposiumError(
                        f"{self.player.name} made no legal move in {self.game.name}: {reason} To play on, set "
                        "on_illegal='random'."
                    )

    def _read_reply(self, ask: Ask, legal: list[str]) -> Reading:
        (reply,) = ask_player(self.player, [ask])
        if reply.action is not None:
            return read_action(reply.action, ask.legal_actions, legal)
        how = bind_reader(self.player.reader, (), self.game.name)
        return read_reply(reply.text, legal, how, self.game.move_pattern, cut_off=reply.finish_reason != "stop")

    def _advance_to(self, state: pyspiel.State) -> MatchContext:
        """Return the match for this state.

        The last match is advanced if it leads to this state; otherwise a new one is begun."""
        if self._context is not None:
            match = self._context.match
            assert isinstance(match, OpenSpielMatch), "made below"
            known, actions = match.state.history(), state.history()
            if actions[: len(known)] == known:
                match.advance(actions[len(known) :])
                return self._context
        match = self.game.begin(None)
        try:
            match.advance(state.history())
        except BadRecord as error:
            raise BadOption(
                f"The state does not belong to {self.game.name}: {error}. Pass a state of this game."
            ) from error
        seed = derive_seed(self._seed, "bot", self._seat, self._number)
        self._context = MatchContext(match, f"bot-{self._seat}-{self._number}", seed)
        self._number += 1
        return self._context


def _load_game(game: pyspiel.Game | OpenSpielGame | str) -> OpenSpielGame:
    opened = load_game(game) if isinstance(game, str) else game
    if isinstance(opened, pyspiel.Game):
        opened = load_by_engine_name(str(opened))
    if not isinstance(opened, OpenSpielGame) or not isinstance(opened.start(), pyspiel.State):
        name = getattr(opened, "name", opened)
        raise BadOption(
            f"{name} has rules that OpenSpiel lacks, so its players cannot be OpenSpiel bots. Play it with "
            "gymposium.match.play."
        )
    return opened
