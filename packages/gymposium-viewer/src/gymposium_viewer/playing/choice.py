"""The match chosen in a form: game, opponents, seat, seed, and the failure policy for opponents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.games.registry import is_registered, load_named_game
from gymposium.http.numbers import parse_number
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import check_named_player, check_player
from gymposium.plugins.names import format_name, parse_name
from gymposium.util.visible import quantity
from gymposium_viewer.playing.forms import Form

PARAMETER_PREFIX = "parameter."
"""Prefix of the fields that hold a game's parameters."""
POLICIES = {
    "retry(2)": "they are asked again, twice at most, then forfeit",
    "forfeit": "they forfeit the match",
    "random": "a random move is played instead",
}
"""Policies for opponents' illegal replies, each with a description.

They do not apply to the person, whose reply is accepted only if it is a move."""


@dataclass(frozen=True, slots=True)
class MatchChoice:
    """The validated settings of a match to start."""

    game: Game
    opponents: tuple[str, ...]
    """The opponents' names in seat order, without the person's."""
    seat: int | None
    """The person's seat; None to draw it at random."""
    seed: int | None
    """The match seed; None to draw it at random."""
    on_illegal: str
    """The failure policy, in the form that `FailurePolicy.parse` reads."""

    @classmethod
    def from_form(cls, form: Form) -> MatchChoice:
        """Return the choice in a form. Players are looked up, not created. Raises `GymposiumError` for an invalid
        field."""
        game = _read_game(form)
        return cls(
            game,
            _read_opponents(form, game.seats - 1),
            _read_seat(form, game.seats),
            _read_seed(form),
            str(FailurePolicy.parse(form.get_text("on_illegal") or next(iter(POLICIES)))),
        )

    def fields(self) -> list[tuple[str, str]]:
        """Return the form fields for this choice."""
        return [
            ("game", self.game.name),
            *(("opponent", text) for text in self.opponents),
            ("seat", "random" if self.seat is None else str(self.seat)),
            ("seed", "" if self.seed is None else str(self.seed)),
            ("on_illegal", self.on_illegal),
        ]

    def query(self) -> str:
        """Return the form's query string for this choice."""
        return urlencode(self.fields())

    def rotate_seats(self) -> MatchChoice:
        """Return the same match with every player moved to the next seat. The person's seat must not be None."""
        assert self.seat is not None
        lineup: list[str | None] = [*self.opponents[: self.seat], None, *self.opponents[self.seat :]]
        lineup = [lineup[-1], *lineup[:-1]]
        opponents = tuple(text for text in lineup if text is not None)
        return replace(self, opponents=opponents, seat=lineup.index(None))


def _read_game(form: Form) -> Game:
    name = form.get_text("game")
    if not name:
        raise BadOption("No game. Enter the name of a game.")
    params = {key: value for key, value in form.get_prefixed(PARAMETER_PREFIX).items() if value.strip()}
    if params and is_registered(parse_name(name)[0]):
        name = format_name(parse_name(name)[0], params)
    return load_named_game(name)  # as for names in files, because a link can fill in the form


def _read_opponents(form: Form, count: int) -> tuple[str, ...]:
    names = [text.strip() for text in form.get_all("opponent")]
    while names and not names[-1]:
        names.pop()
    if len(names) > count:
        seats = "no other seat" if count == 0 else "one other seat" if count == 1 else f"{count} other seats"
        raise BadOption(f"{quantity(len(names), 'opponent')} for a game with {seats}. Leave the last fields empty.")
    if count and not (names and names[0]):
        raise BadOption("No opponent. Enter a player such as random or mcts-100.")
    names += [""] * (count - len(names))
    for place in range(count):
        names[place] = names[place] or names[place - 1]
        if check_player(names[place])[0].name == "human":
            raise BadOption("human needs a terminal and cannot play here. Enter another opponent.")
        check_named_player(names[place])  # as for names in files, because a link can fill in the form
    return tuple(names)


def _read_seat(form: Form, seats: int) -> int | None:
    text = form.get_text("seat") or "random"
    if text == "random":
        return None
    if (seat := parse_number(text)) in range(seats):
        return seat
    raise BadOption(f"Invalid seat {text!r}. Enter a seat from 0 to {seats - 1}, or random.")


def _read_seed(form: Form) -> int | None:
    text = form.get_text("seed")
    if not text:
        return None
    if (seed := parse_number(text)) >= 0:
        return seed
    raise BadOption(f"Invalid seed {text!r}. Enter a non-negative number with at most 18 digits, or nothing.")
