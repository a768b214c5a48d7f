"""Games and matches made from an author's rules."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic

from gymposium.errors import BadRecord, IllegalMove, NoSampler, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.games.replay import CHANCE_NODE, replay_events
from gymposium.games.rules.protocol import (
    HasChance,
    HasMoveForm,
    HasPictures,
    HasResample,
    HasTensor,
    HasView,
    Rules,
    RulesError,
    S,
)
from gymposium.util.streams import draw_outcome, stream

if TYPE_CHECKING:
    import numpy as np

    from gymposium.games.pictures import Picture
    from gymposium.plugins.specs import GameSpec


class RulesGame(Generic[S]):
    """A `Game` made from an author's rules."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], author: Rules[S]) -> None:
        self.spec = spec
        self.params: Mapping[str, Any] = MappingProxyType(dict(params))
        self.name = spec.full_name(params)
        self.author = author
        self.author_name = type(author).__name__
        self.seats = spec.count_seats(params)
        self.utility_range = author.utility_range
        self.max_decisions = author.max_decisions
        self.moves: list[str] | None = None if author.moves is None else list(author.moves)
        self.num_actions = len(self.moves or ())
        self.actions = {move: action for action, move in enumerate(self.moves or ())}
        self._all_legal = list(range(self.num_actions)), self.moves or []
        self.hides = spec.information == "imperfect"
        self.is_sequential = spec.dynamics == "sequential"
        # looked up once, because isinstance() with a protocol is slow
        self._chance = author.chance if isinstance(author, HasChance) else None
        self._view = author.view if isinstance(author, HasView) else None
        self._move_form = author.move_form if isinstance(author, HasMoveForm) else None
        self._tensor = author.tensor if isinstance(author, HasTensor) else None
        self.tensor_shape: tuple[int, ...] | None = author.tensor_shape if isinstance(author, HasTensor) else None

    @cached_property
    def move_pattern(self) -> re.Pattern[str] | None:
        return None if self.moves is None else re.compile("|".join(map(re.escape, self.moves)))

    def __deepcopy__(self, memo: dict[int, Any]) -> RulesGame[S]:
        return self  # immutable; Gymnasium copies the keyword arguments of an environment

    def __reduce__(self) -> tuple[Any, ...]:
        from gymposium.games.registry import load_game

        return load_game, (self.name,)

    def rules(self, seat: int, style: Style = "full") -> str:
        return self.author.rules(seat, style)

    def new(self, seed: int) -> RulesMatch[S]:
        match = RulesMatch(self, self.author.start(), [], seed, None)
        match._draw_chance()
        return match

    def load(self, events: Sequence[Event], seed: int | None = None) -> RulesMatch[S]:
        match = RulesMatch(self, self.author.start(), [], seed, None)
        match._replay(events)
        return match

    def render_view(self, state: S, seat: int) -> str:
        return repr(state) if self._view is None else self._view(state, seat)

    def describe_move_form(self, state: S, seat: int) -> str:
        """Return what the seat's legal moves look like, or "" if prompts list them."""
        return "" if self._move_form is None else self._move_form(state, seat)

    def make_tensor(self, state: S, seat: int) -> np.ndarray:
        import numpy as np

        if self._tensor is None:
            raise ValueError(f"{self.name} has no tensor observation; use observation='text'.")
        numbers = np.asarray(self._tensor(state, seat), np.float32)
        try:
            return numbers.reshape(self.tensor_shape or ())
        except ValueError as error:
            raise RulesError(
                f"{self.author_name}.tensor does not have the shape {self.tensor_shape} of tensor_shape: {error}."
            ) from error

    def to_move(self, state: S) -> tuple[int, ...]:
        """Return the seats to move, or `(CHANCE,)`. Raises `RulesError` if the author's answer is invalid."""
        if state is None:
            raise RulesError(f"{self.author_name}.play returned None; it must return the position after the moves.")
        seats = self.author.to_move(state)
        if seats == CHANCE_NODE:
            return seats
        if type(seats) is not tuple or any(not 0 <= seat < self.seats for seat in seats):
            raise RulesError(
                f"{self.author_name}.to_move must return a tuple of seats from 0 to {self.seats - 1}, () at the end, "
                f"or "
                f"(CHANCE,), not {seats!r}."
            )
        if len(seats) > 1:
            if self.is_sequential:
                raise RulesError(
                    f"{self.author_name}.to_move returned several seats, {seats!r}. Set dynamics='simultaneous' in the "
                    f"spec."
                )
            if any(a >= b for a, b in pairwise(seats)):
                raise RulesError(f"{self.author_name}.to_move must return seats in ascending order, not {seats!r}.")
        return seats

    def list_legal(self, state: S, seat: int) -> tuple[list[int], list[str]]:
        """Return a seat's legal actions, ascending, and their names. Without an action space, there are only names."""
        moves, listed = self.moves or (), self.author.legal_moves(state, seat)
        if listed is None or not listed:
            raise RulesError(
                f"{self.author_name}.legal_moves returned no legal move for seat {seat}, which must move: {listed!r}. "
                "Return at least one."
            )
        if self.moves is None:
            return [], list(listed)
        if listed is self.author.moves:  # sorted and without duplicates, and there may be thousands
            return self._all_legal
        try:
            actions = sorted([self.actions[move] for move in listed])
        except KeyError as error:
            raise RulesError(
                f"{self.author_name}.legal_moves returned {error}, which is not in `moves`. Add it there."
            ) from None
        if len(set(actions)) != len(actions):
            raise RulesError(
                f"{self.author_name}.legal_moves returned a duplicate move: {listed!r}. List each move once."
            )
        return actions, [moves[action] for action in actions]

    def list_outcomes(self, state: S) -> list[tuple[str, float]]:
        """Return the chance outcomes with their probabilities.

        They are sorted, so the author's order does not matter."""
        if self._chance is None:
            raise RulesError(
                f"{self.author_name}.to_move returned (CHANCE,), but {self.author_name} has no method `chance`. Define "
                "it."
            )
        weights: object = self._chance(state)
        if not isinstance(weights, Mapping) or {*map(type, weights)} - {str}:
            raise RulesError(
                f"{self.author_name}.chance must map outcomes (strings) to weights, like "
                f"{{'heads': 1, 'tails': 1}}, not {weights!r}."
            )
        total = sum(weights.values())
        if not total > 0 or min(weights.values()) < 0:
            raise RulesError(
                f"{self.author_name}.chance must return weights that are not negative and not all 0, not {weights!r}."
            )
        return [(outcome, weight / total) for outcome, weight in sorted(weights.items()) if weight]


class RulesMatch(Generic[S]):
    """A match played by an author's rules. Positions are immutable, so forks share them."""

    __slots__ = ("_legal", "_rng", "_to_move", "events", "game", "seed", "state")

    def __init__(
        self, game: RulesGame[S], state: S, events: list[Event], seed: int | None, rng: random.Random | None
    ) -> None:
        self.game = game
        self.events = events
        self.seed = seed
        self._rng = rng
        self._set_state(state)

    def to_move(self) -> tuple[int, ...]:
        return self._to_move

    def legal_moves(self, seat: int) -> list[str] | None:
        return None if self._takes_text(seat) else self._list_legal(seat)[1].copy()

    def legal_actions(self, seat: int) -> list[int]:
        return [] if self.game.moves is None else self._list_legal(seat)[0].copy()

    def observe(self, seat: int, style: Style = "full") -> Observation:
        text, legal = self.game.author.position(self.state, seat, style), self.legal_moves(seat)
        observation = Observation(seat, text, legal)
        if legal:
            observation.move_form = self.game.describe_move_form(self.state, seat)
        if style == "compact" and legal is not None:
            observation.text += f"legal {observation.describe_moves() or 'none'}\n"  # full prompts have a separate line
        return observation

    def view(self, seat: int) -> str:
        view = self.game.render_view(self.state, seat)
        if self.game.hides and not self._to_move:  # all seats learn the result
            return f"{view}\nreturns {self.returns()}"
        return view

    def draw_picture(self, seat: int) -> Picture | None:
        author = self.game.author
        if not isinstance(author, HasPictures):
            return None
        return author.draw_picture(self.state, seat, () if self.game.hides else self.events)

    def tensor(self, seat: int) -> np.ndarray:
        return self.game.make_tensor(self.state, seat)

    def apply(self, moves: Mapping[int, str]) -> None:
        self._apply_moves(moves)
        self._draw_chance()

    def returns(self) -> tuple[float, ...]:
        return self.game.author.returns(self.state)

    def fork(self, rng: random.Random) -> RulesMatch[S]:
        return RulesMatch(self.game, self.state, self.events.copy(), None, rng)

    def resample(self, seat: int, rng: random.Random) -> RulesMatch[S]:
        game = self.game
        if not game.hides:
            return self.fork(rng)
        if not isinstance(game.author, HasResample):
            raise NoSampler(
                f"{game.author_name} has no method resample(self, events, seat, rng), so hidden information in "
                f"{game.name} cannot be sampled. Define it to return another world that looks the same to the seat."
            )
        world = RulesMatch(game, game.author.start(), [], None, rng)
        world._replay(game.author.resample(tuple(self.events), seat, rng))
        if world._to_move != self._to_move or world.view(seat) != self.view(seat):
            raise RulesError(
                f"{game.author_name}.resample returned a world that looks different to seat {seat}. Keep all that the "
                "seat knows."
            )
        return world

    def _set_state(self, state: S) -> None:
        self._to_move = self.game.to_move(state)
        self.state = state
        self._legal: dict[int, tuple[list[int], list[str]]] = {}

    def _takes_text(self, seat: int) -> bool:
        """Return whether the seat's move is any text."""
        if self.game.moves is not None:
            return False
        if not self.game.spec.talk:
            return True
        return seat in self._to_move and self.game.author.legal_moves(self.state, seat) is None

    def _list_legal(self, seat: int) -> tuple[list[int], list[str]]:
        legal = self._legal.get(seat)
        if legal is None:
            legal = self.game.list_legal(self.state, seat) if seat in self._to_move else ([], [])
            self._legal[seat] = legal
        return legal

    def _apply_moves(self, moves: Mapping[int, str]) -> None:
        seats = self._to_move
        if not seats or len(moves) != len(seats) or any(seat not in moves for seat in seats):
            raise WrongSeat(moves, seats)
        game = self.game
        if len(self.events) >= game.max_decisions:  # some of them may be chance's
            decisions = sum(event.seat != CHANCE for event in self.events) + len(seats)
            if decisions > game.max_decisions:  # the driver reports this first; here it ends playouts
                raise RulesError(
                    f"{game.author_name}.max_decisions is {game.max_decisions}, but the match continues. Raise it, or "
                    "end the match."
                )
        for seat in seats:
            legal = None if self._takes_text(seat) else self._list_legal(seat)[1]
            known = game.actions if legal is game.moves else legal or ()
            if not isinstance(moves[seat], str) or (legal is not None and moves[seat] not in known):
                raise IllegalMove(seat, moves[seat], legal)
        self._set_state(self.game.author.play(self.state, moves))
        self.events.extend([Event(seat, moves[seat]) for seat in seats])

    def _draw_chance(self) -> None:
        """Draw chance outcomes, then compute the legal moves.

        Doing this early lets the driver report an error together with the match so far."""
        while self._to_move == CHANCE_NODE:
            if self._rng is None:
                if self.seed is None:
                    raise BadRecord("The record ends before a chance outcome. Pass the match's seed to continue.")
                self._rng = stream(self.seed, "chance")
            outcomes = self.game.list_outcomes(self.state)
            chosen = draw_outcome([(number, chance) for number, (_, chance) in enumerate(outcomes)], self._rng)
            self._apply_chance(outcomes[chosen][0])
        if self.game.moves is not None:
            for seat in self._to_move:
                self._list_legal(seat)

    def _apply_chance(self, outcome: str) -> None:
        self._set_state(self.game.author.play(self.state, {CHANCE: outcome}))
        self.events.append(Event(CHANCE, outcome))

    def _replay(self, events: Sequence[Event]) -> None:
        replay_events(events, self.to_move, self._replay_chance, self._apply_moves)
        self._draw_chance()

    def _replay_chance(self, number: int, outcome: str) -> None:
        if all(outcome != possible for possible, _ in self.game.list_outcomes(self.state)):
            raise BadRecord(f"Event {number}: {outcome!r} is not an outcome of chance here.")
        if self.seed is not None:  # consume the draw that the original match consumed
            self._rng = self._rng or stream(self.seed, "chance")
            self._rng.random()
        self._apply_chance(outcome)
