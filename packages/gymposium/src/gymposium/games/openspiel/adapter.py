"""OpenSpiel games as `Game` and `Match`.

Each chance outcome is drawn from the match's random stream and recorded as an event with the engine's text.
Simultaneous moves go to the engine as a joint action (`apply_actions`), never encoded as one flat action.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, cast

import pyspiel

from gymposium.errors import BadParameter, BadRecord, IllegalMove, NoSampler, WrongSeat
from gymposium.games.openspiel.quiet import suppress_warning
from gymposium.games.openspiel.wording import Wording, WordingByPosition, WordingWithPictures
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.games.replay import CHANCE_NODE, replay_events
from gymposium.util.streams import draw_outcome, stream

if TYPE_CHECKING:
    import numpy as np

    from gymposium.games.pictures import Picture
    from gymposium.plugins.specs import GameSpec

_GAMES_WITH_WARNING = frozenset(["quoridor"])
"""Games with an engine warning about known issues that do not affect the variant played here."""
_GAMES_WITH_SAMPLER = frozenset("bargaining bridge kuhn_poker leduc_poker oh_hell universal_poker".split())
"""Games with a sound engine sampler, `resample_from_infostate` (open_spiel 2.0.2).

universal_poker's sampler is for two seats only; with more it crashes the process. Four other games have an unsound
sampler:

- gin_rummy's returns the true state.
- Those of euchre and hearts keep hidden moves (the discard, the pass), in deals that often make them illegal.
- blackjack's draws in an order that depends on the hidden card, so equal generators reveal it.

In all other games the sampler aborts in C++."""


class OpenSpielGame:
    """An OpenSpiel game with fixed parameters, and its text."""

    pure = False
    """False for games with recorded chance: a replay takes the outcomes from the record
    (`gymposium.games.protocol`)."""
    dealt: Sequence[str] | None = None
    """Chance outcomes for this game's matches, in order, if they come from a record.

    None if they are drawn from the seed."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, wording: Wording) -> None:
        self.spec = spec
        self.params: Mapping[str, Any] = MappingProxyType(dict(params))
        self.name = spec.full_name(params)
        self.engine = engine
        self.wording = wording
        self.seats: int = engine.num_players()
        self.utility_range: tuple[float, float] = (engine.min_utility(), engine.max_utility())
        self.num_actions: int = engine.num_distinct_actions()
        kind = engine.get_type()
        self.max_decisions: int = engine.max_game_length() * (
            self.seats if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS else 1
        )
        self._resamples = kind.short_name in _GAMES_WITH_SAMPLER and (
            kind.short_name != "universal_poker" or self.seats == 2
        )
        self.hides = kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION
        # In a game of perfect information, the information state is the whole history. The board is a smaller key for
        # the same knowledge.
        self._view_is_board = kind.provides_observation_string and not (
            self.hides and kind.provides_information_state_string
        )
        self._tensor_is_board = kind.provides_observation_tensor and not (
            self.hides and kind.provides_information_state_tensor
        )
        self.tensor_shape: tuple[int, ...] | None = None
        if self._tensor_is_board:
            self.tensor_shape = tuple(engine.observation_tensor_shape())
        elif kind.provides_information_state_tensor:
            self.tensor_shape = tuple(engine.information_state_tensor_shape())
        self._set_wording(wording)

    def _set_wording(self, words: Wording) -> None:
        """Use this wording for prompts and replies."""
        self.told = words
        """The wording that players read: `wording`, or a disguised version of it."""
        self.move_pattern: re.Pattern[str] | None = words.move_pattern
        self.names: list[str] | None = None if words.names is None else list(words.names)
        self.actions: dict[str, int] = {name: i for i, name in enumerate(self.names or ())}
        if len(self.actions) != len(self.names or ()):
            duplicates = sorted({name for name in words.names or () if list(words.names or ()).count(name) > 1})
            raise ValueError(f"{self.name}: duplicate action names {duplicates}; name each action once")

    def reword(self, words: Wording, **params: Any) -> Self:
        """Return this game with a different wording. `params` become part of its name."""
        changed = {**self.params, **params}
        game = self._copy_with(params=MappingProxyType(changed), name=self.spec.full_name(changed))
        game._set_wording(words)
        return game

    def __deepcopy__(self, memo: dict[int, Any]) -> OpenSpielGame:
        return self  # immutable; Gymnasium copies the keyword arguments of an environment

    def __reduce__(self) -> tuple[Any, ...]:
        from gymposium.games.registry import load_game

        return (load_game, (self.name,)) if not self.dealt else (_load_with_chance, (self.name, self.dealt))

    def rules(self, seat: int, style: Style = "full") -> str:
        return self.told.rules(seat, style)

    def name_moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        """Return the names of a seat's legal actions in this position, for a wording whose `names` is None."""
        return cast(WordingByPosition, self.told).moves(state, seat, actions)

    def player(self, state: pyspiel.State) -> int:
        """Return the engine's player to move: a seat, or a number below 0 for chance, a joint move or the end.

        Override this if the rules end a match in a draw earlier than the engine does."""
        player: int = state.current_player()
        return player

    def legal(self, state: pyspiel.State, seat: int) -> list[int]:
        """Return a seat's legal actions, by default the engine's.

        Override this if the rules allow other actions, or end a match earlier than the engine does."""
        actions: list[int] = state.legal_actions(seat)  # cast() would double the time
        return actions

    def use_recorded_chance(self) -> Self:
        """Return the variant `recorded:NAME`, for records of matches whose dice and cards were drawn elsewhere.

        A replay takes chance outcomes from the record. Raises `BadParameter` for a game without chance."""
        if not self.spec.chance:
            raise BadParameter(f"recorded:{self.name}: {self.name} has no chance. Use {self.name}.")
        return self._copy_with(spec=replace(self.spec, recorded=True), name=f"recorded:{self.name}", dealt=())

    def recorded(self, events: Sequence[Event]) -> Self:
        """Return a version of this game that takes its chance outcomes from these events
        (`gymposium.games.protocol.RecordedGame`)."""
        return self._copy_with(dealt=tuple(event.move for event in events if event.seat == CHANCE))

    def _copy_with(self, **attributes: Any) -> Self:
        """Return a copy of the game with these attribute values."""
        game = object.__new__(type(self))
        game.__dict__.update(self.__dict__, **attributes)
        return game

    def start(self) -> pyspiel.State:
        """Return the engine's initial state."""
        return self.engine.new_initial_state()

    def new(self, seed: int) -> OpenSpielMatch:
        match = self.begin(seed)
        match._draw_chance()
        return match

    def load(self, events: Sequence[Event], seed: int | None = None) -> OpenSpielMatch:
        match = self.begin(seed)
        replay_events(events, match._find_seats, match._replay_chance, match._apply_moves)
        match._draw_chance()
        return match

    def begin(self, seed: int | None) -> OpenSpielMatch:
        """Return a match before its first event."""
        return OpenSpielMatch(self, self.start(), [], seed, None)

    def list_chances(self, state: pyspiel.State) -> Sequence[tuple[int, float]]:
        """Return the chance outcomes and their probabilities."""
        outcomes: list[tuple[int, float]] = state.chance_outcomes()
        return outcomes

    def outcome(self, state: pyspiel.State, action: int) -> str:
        """Return a chance outcome's name for records. It is one line, and unique among the outcomes of its node."""
        return str(state.action_to_string(CHANCE, action))

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        view: str = state.observation_string(seat) if self._view_is_board else state.information_state_string(seat)
        if self.hides and state.is_terminal():  # all seats learn the result, even if the engine's view omits it
            return f"{view}\nreturns {state.returns()}"
        return view

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Implement `match.resample` with the engine's sampler.

        Subclasses override this for games without a sound engine sampler."""
        if not self._resamples:
            raise NoSampler(
                f"{self.name} has hidden information, and its engine has no sound sampler of worlds that match a "
                f"seat's view. A player's ask.sampler.worlds() samples worlds from the seat's observations instead."
            )
        return self.world(match, match.state.resample_from_infostate(seat, rng.random).history(), rng)

    def world(self, match: OpenSpielMatch, history: Sequence[int], rng: random.Random) -> OpenSpielMatch:
        """Return the match after this history. Later chance is drawn from `rng`.

        The history must be as long as that of `match`, with the same seat or chance acting at each step."""
        state, events = self.start(), match.events.copy()
        for number, (action, was) in enumerate(zip(history, match.state.history(), strict=True)):
            if action != was:
                seat = events[number].seat
                events[number] = Event(seat, self._format_move(state, seat, action))
            state.apply_action(action)
        return OpenSpielMatch(self, state, events, None, rng)

    def _format_move(self, state: pyspiel.State, seat: int, action: int) -> str:
        """Return the name of a move or a chance outcome."""
        if seat == CHANCE:
            return self.outcome(state, action)
        return self.name_moves(state, seat, [action])[0] if self.names is None else self.names[action]

    def make_tensor(self, state: pyspiel.State, seat: int) -> list[float]:
        if self.tensor_shape is None:
            raise ValueError(f"{self.name} has no tensor observation; use observation='text'.")
        values: list[float] = (
            state.observation_tensor(seat) if self._tensor_is_board else state.information_state_tensor(seat)
        )
        return values


class OpenSpielMatch:
    """A match of an OpenSpiel game. Only the game, its wording, and search over sampled states may read `state`."""

    __slots__ = ("_actions", "_moves", "_rng", "_seats", "events", "game", "seed", "state")

    def __init__(
        self,
        game: OpenSpielGame,
        state: pyspiel.State,
        events: list[Event],
        seed: int | None,
        rng: random.Random | None,
    ) -> None:
        self.game = game
        self.state = state
        self.events = events
        self.seed = seed
        self._rng = rng
        self._clear_cache()

    def _clear_cache(self) -> None:
        """Clear the cached results of engine queries after the position changes.

        They are cached because queries are slow."""
        self._seats: tuple[int, ...] | None = None
        self._actions: dict[int, list[int]] = {}
        """Cached legal actions per seat."""
        self._moves: dict[int, tuple[str, ...]] = {}
        """Cached names of the legal actions, if names depend on the position."""

    def to_move(self) -> tuple[int, ...]:
        if self._seats is None:
            player = self.game.player(self.state)
            if player >= 0:
                self._seats = (player,)
            else:
                joint = self.state.is_simultaneous_node()
                self._seats = tuple([seat for seat in range(self.game.seats) if joint and self._get_legal(seat)])
        return self._seats

    def _get_legal(self, seat: int) -> list[int]:
        """Return the cached legal actions. Callers must not modify the list."""
        actions = self._actions.get(seat)
        if actions is None:
            actions = self._actions[seat] = self.game.legal(self.state, seat)
        return actions

    def legal_actions(self, seat: int) -> list[int]:
        return self._get_legal(seat).copy()

    def legal_moves(self, seat: int) -> list[str]:
        names, actions = self.game.names, self._get_legal(seat)
        return [*self._get_move_names(seat)] if names is None else [names[action] for action in actions]

    def _get_move_names(self, seat: int) -> tuple[str, ...]:
        moves = self._moves.get(seat)
        if moves is None:
            moves = self._moves[seat] = tuple(self.game.name_moves(self.state, seat, self._get_legal(seat)))
        return moves

    def observe(self, seat: int, style: Style = "full") -> Observation:
        return Observation(seat, self.game.told.position(self.state, seat, style), self.legal_moves(seat))

    def view(self, seat: int) -> str:
        return self.game.render_view(self.state, seat)

    def draw_picture(self, seat: int) -> Picture | None:
        words = self.game.told
        if not isinstance(words, WordingWithPictures):
            return None
        return words.draw_picture(self.state, seat, () if self.game.hides else self.events)

    def tensor(self, seat: int) -> np.ndarray:
        import numpy as np

        return np.asarray(self.game.make_tensor(self.state, seat), np.float32).reshape(self.game.tensor_shape or ())

    def apply(self, moves: Mapping[int, str]) -> None:
        self._apply_moves(moves)
        self._draw_chance()

    def returns(self) -> tuple[float, ...]:
        return tuple([value + 0.0 for value in self.state.returns()])  # gomoku.cc returns -0.0 for draws

    def fork(self, rng: random.Random) -> OpenSpielMatch:
        return OpenSpielMatch(self.game, self.state.clone(), list(self.events), None, rng)

    def resample(self, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Return another match that this seat cannot distinguish from this one.

        Its events are complete, so it can be recorded and replayed."""
        return self.game.sample(self, seat, rng) if self.game.hides else self.fork(rng)

    def _apply_moves(self, moves: Mapping[int, str]) -> None:
        state, seats = self.state, self.to_move()
        if not seats or moves.keys() != set(seats):
            raise WrongSeat(moves, seats)
        if not state.is_simultaneous_node():
            (seat,) = seats
            state.apply_action(self._find_action(seat, moves[seat]))
            self.events.append(Event(seat, moves[seat]))
            self._clear_cache()
            return
        state.apply_actions(
            [
                self._find_action(seat, moves[seat]) if seat in moves else pyspiel.INVALID_ACTION
                for seat in range(self.game.seats)
            ]
        )
        self.events.extend([Event(seat, moves[seat]) for seat in seats])
        self._clear_cache()

    def _find_action(self, seat: int, move: str) -> int:
        if self.game.names is None:
            if move in (moves := self._get_move_names(seat)):
                return self._get_legal(seat)[moves.index(move)]
        elif (action := self.game.actions.get(move)) is not None and action in self._get_legal(seat):
            return action
        raise IllegalMove(seat, move, self.legal_moves(seat))

    def _draw_chance(self) -> None:
        """Draw chance outcomes until a seat is to move. Callers must call `_clear_cache` first."""
        state = self.state
        while state.is_chance_node():
            if self.game.dealt is not None:
                self._replay_next_chance(self.game.dealt)
                continue
            if self._rng is None:
                if self.seed is None:
                    raise BadRecord("The record ends before a chance outcome. Pass the match's seed to continue.")
                self._rng = stream(self.seed, "chance")
            action = draw_outcome(self.game.list_chances(state), self._rng)
            self.events.append(Event(CHANCE, self.game.outcome(state, action)))
            state.apply_action(action)

    def _replay_next_chance(self, dealt: Sequence[str]) -> None:
        """Apply the next recorded chance outcome."""
        number = sum(event.seat == CHANCE for event in self.events)
        if number >= len(dealt):
            raise BadRecord(
                f"{self.game.name} takes its chance outcomes from a record, which has only {len(dealt)}. To play the "
                f"game, use {self.game.name.removeprefix('recorded:')}."
            )
        self._replay_chance(len(self.events), dealt[number])

    def advance(self, actions: Sequence[int]) -> None:
        """Apply actions from the engine's history (`pyspiel.State.history`) without drawing chance.

        The history has moves, chance outcomes, and one action per seat for a simultaneous move.

        Raises `BadRecord` with the index of the first impossible action."""
        number = 0
        while number < len(actions):
            state, action = self.state, actions[number]
            if state.is_terminal():
                raise BadRecord(f"action {number}: {action} comes after the end of the match")
            if state.is_chance_node():
                if action not in [outcome for outcome, _ in self.game.list_chances(state)]:
                    raise BadRecord(f"action {number}: {action} is not an outcome of chance")
                self.events.append(Event(CHANCE, self.game.outcome(state, action)))
                state.apply_action(action)
                self._clear_cache()
                number += 1
                continue
            joint = state.is_simultaneous_node()
            here = dict(enumerate(actions[number : number + self.game.seats])) if joint else {self.to_move()[0]: action}
            moves: dict[int, str] = {}
            for seat in self.to_move():
                if (mine := here.get(seat)) not in self._get_legal(seat):
                    raise BadRecord(f"action {number + seat * joint}: action {mine} of seat {seat} is not legal")
                moves[seat] = self.legal_moves(seat)[self._get_legal(seat).index(mine)]
            self._apply_moves(moves)
            number += len(here)

    def _find_seats(self) -> tuple[int, ...]:
        return CHANCE_NODE if self.state.is_chance_node() else self.to_move()

    def _replay_chance(self, number: int, move: str) -> None:
        for action, _ in self.game.list_chances(self.state):
            if self.game.outcome(self.state, action) == move:
                if self.seed is not None:  # consume the draw that the original match consumed
                    self._rng = self._rng or stream(self.seed, "chance")
                    self._rng.random()
                self.state.apply_action(action)
                self.events.append(Event(CHANCE, move))
                self._clear_cache()
                return
        raise BadRecord(f"Event {number}: {move!r} is not an outcome of chance here.")


def _load_with_chance(name: str, outcomes: Sequence[str]) -> OpenSpielGame:
    """Load a game with these recorded chance outcomes. Pickled games refer to this function."""
    from gymposium.games.registry import load_game

    return cast(OpenSpielGame, load_game(name)).recorded([Event(CHANCE, outcome) for outcome in outcomes])


def load_engine_game(name: str, params: Mapping[str, Any]) -> pyspiel.Game:
    """Load the engine's game. Parameters keep their types and never go through the engine's string parser."""
    if name in _GAMES_WITH_WARNING:
        with suppress_warning():
            return pyspiel.load_game(name, dict(params))
    return pyspiel.load_game(name, dict(params))


def make_openspiel_factory(
    name: str,
    words: Callable[..., Wording],
    kind: Callable[[GameSpec, Mapping[str, Any], pyspiel.Game, Any], OpenSpielGame] = OpenSpielGame,
    **fixed: Any,
) -> Callable[[GameSpec, Mapping[str, Any]], OpenSpielGame]:
    """Return the entry point for an OpenSpiel game, made from its wording and optionally a subclass of `OpenSpielGame`.

    `name` is the engine's name for the game. The engine gets the spec's parameters and those in `fixed`. `words` is
    called with the engine's game and the spec's parameters: `words(engine, **params)`."""

    def make_game(spec: GameSpec, params: Mapping[str, Any]) -> OpenSpielGame:
        engine = load_engine_game(name, {**params, **fixed})
        return kind(spec, params, engine, words(engine, **params))

    return make_game
