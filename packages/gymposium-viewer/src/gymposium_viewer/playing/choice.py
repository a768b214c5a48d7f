"""The choice of a match in a form: game, opponents, seat, seed, and the policy for opponents' failed replies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.games.registry import is_registered, load_named_game
from gymposium.http.numbers import number
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import check_named_player, check_player
from gymposium.plugins.names import format_name, parse_name
from gymposium_viewer.playing.forms import Form

PARAMETER = "parameter."
"""Prefix of the names of the fields that hold a game's parameters."""
COSTS = {
    "retry(2)": "they are asked again, twice at most, then forfeit",
    "forfeit": "they forfeit the match",
    "random": "a random move is played instead",
}
"""Policies for opponents' replies that are not legal moves, in words. A person's reply is never taken unless it is a
move, so none of them costs the person anything."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A match that can begin."""

    game: Game
    opponents: tuple[str, ...]
    """Names of the opponents in order of their seats, without the person's."""
    seat: int | None
    """The person's seat; None to draw it."""
    seed: int | None
    """The seed of the match; None to draw it."""
    on_illegal: str
    """The failure policy, as `FailurePolicy.parse` reads it."""

    @classmethod
    def of(cls, form: Form) -> Choice:
        """The choice in a form. Raises `GymposiumError`, which says what to write instead. Players are looked up, not
        made."""
        game = _game(form)
        return cls(
            game,
            _opponents(form, game.seats - 1),
            _seat(form, game.seats),
            _seed(form),
            str(FailurePolicy.parse(form.text("on_illegal") or next(iter(COSTS)))),
        )

    def fields(self) -> list[tuple[str, str]]:
        """The fields of a form with this choice."""
        return [
            ("game", self.game.name),
            *(("opponent", text) for text in self.opponents),
            ("seat", "random" if self.seat is None else str(self.seat)),
            ("seed", "" if self.seed is None else str(self.seed)),
            ("on_illegal", self.on_illegal),
        ]

    def query(self) -> str:
        """The query string of a form with this choice."""
        return urlencode(self.fields())

    def moved_on(self) -> Choice:
        """The same match with everyone one seat on. The seat must not be None."""
        assert self.seat is not None
        lineup: list[str | None] = [*self.opponents[: self.seat], None, *self.opponents[self.seat :]]
        lineup = [lineup[-1], *lineup[:-1]]
        opponents = tuple(text for text in lineup if text is not None)
        return replace(self, opponents=opponents, seat=lineup.index(None))


def _game(form: Form) -> Game:
    name = form.text("game")
    if not name:
        raise BadOption("Write which game is to be played.")
    params = {key: value for key, value in form.under(PARAMETER).items() if value.strip()}
    if params and is_registered(parse_name(name)[0]):
        name = format_name(parse_name(name)[0], params)
    return load_named_game(name)  # as for names in files, because a link can fill in the form


def _opponents(form: Form, count: int) -> tuple[str, ...]:
    names = [text.strip() for text in form.all("opponent")]
    while names and not names[-1]:
        names.pop()
    if len(names) > count:
        seats = "no other seat" if count == 0 else "one other seat" if count == 1 else f"{count} other seats"
        raise BadOption(f"There are {len(names)} opponents, but the game has {seats}: leave the last fields empty.")
    if count and not (names and names[0]):
        raise BadOption("Write who plays against you, for example random or mcts-100.")
    names += [""] * (count - len(names))
    for place in range(count):
        names[place] = names[place] or names[place - 1]
        if check_player(names[place])[0].name == "human":
            raise BadOption("human is a person at a terminal, who cannot be asked from here: write another opponent.")
        check_named_player(names[place])  # as for names in files, because a link can fill in the form
    return tuple(names)


def _seat(form: Form, seats: int) -> int | None:
    text = form.text("seat") or "random"
    if text == "random":
        return None
    if (seat := number(text)) in range(seats):
        return seat
    raise BadOption(f"Your seat: there is no seat {text!r}. Write a seat from 0 to {seats - 1}, or random.")


def _seed(form: Form) -> int | None:
    text = form.text("seed")
    if not text:
        return None
    if (seed := number(text)) >= 0:
        return seed
    raise BadOption(f"The seed: {text!r} is not a seed. Write a number from 0, of at most 18 digits, or nothing.")
