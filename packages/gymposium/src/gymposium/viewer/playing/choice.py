"""What somebody wants to play, as a form says it: the game, who else, which seat, from which seed."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.games.registry import is_registered, load_named_game
from gymposium.players.grammar import check_named_player, check_player
from gymposium.plugins.names import format_name, parse_name
from gymposium.viewer.numbers import number
from gymposium.viewer.playing.forms import Form

PARAMETER = "parameter."
"""What the names of fields begin with that hold a game's parameters."""
COSTS = {
    "retry(2)": "they are asked again, twice at most, then forfeit",
    "forfeit": "they forfeit the match",
    "random": "a random move is played instead",
}
"""What a reply of an opponent costs that is no legal move. Of a person's none is taken, so it costs nothing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A match that can begin. What is None is drawn."""

    game: Game
    opponents: tuple[str, ...]
    """In order of seat, the person's left out."""
    seat: int | None
    seed: int | None
    on_illegal: str

    @classmethod
    def of(cls, form: Form) -> Choice:
        """Raises `GymposiumError` with what is to be written instead. Players are looked up, not made."""
        game = _game(form)
        return cls(game, _opponents(form, game.seats - 1), _seat(form, game.seats), _seed(form), _cost(form))

    def fields(self) -> list[tuple[str, str]]:
        """The form that says the same."""
        return [
            ("game", self.game.name),
            *(("opponent", text) for text in self.opponents),
            ("seat", "random" if self.seat is None else str(self.seat)),
            ("seed", "" if self.seed is None else str(self.seed)),
            ("on_illegal", self.on_illegal),
        ]

    def query(self) -> str:
        """The same, for an address."""
        return urlencode(self.fields())

    def seated(self, seat: int) -> Choice:
        """With the person in that seat, and the others where they are."""
        return Choice(self.game, self.opponents, seat, self.seed, self.on_illegal)

    def moved_on(self) -> Choice:
        """With everybody one seat on. A seat must have been drawn."""
        assert self.seat is not None
        lineup: list[str | None] = [*self.opponents[: self.seat], None, *self.opponents[self.seat :]]
        lineup = [lineup[-1], *lineup[:-1]]
        others = tuple(text for text in lineup if text is not None)
        return Choice(self.game, others, lineup.index(None), self.seed, self.on_illegal)


def _game(form: Form) -> Game:
    name = form.text("game")
    if not name:
        raise BadOption("Write which game is to be played.")
    params = {key: value for key, value in form.under(PARAMETER).items() if value.strip()}
    if params and is_registered(parse_name(name)[0]):
        name = format_name(parse_name(name)[0], params)
    return load_named_game(name)  # an address may have filled in the form


def _opponents(form: Form, others: int) -> tuple[str, ...]:
    given = [text.strip() for text in form.all("opponent")]
    while given and not given[-1]:
        given.pop()
    if len(given) > others:
        seats = "no other seat" if others == 0 else "one other seat" if others == 1 else f"{others} other seats"
        raise BadOption(f"There are {len(given)} opponents, but the game has {seats}: leave the last fields empty.")
    if others and not (given and given[0]):
        raise BadOption("Write who plays against you, for example random or mcts-100.")
    for place in range(others):
        if place == len(given):
            given.append("")
        given[place] = given[place] or given[place - 1]
        if check_player(given[place])[0].name == "human":
            raise BadOption("human is a person at a terminal, who cannot be asked from here: write another opponent.")
        check_named_player(given[place])  # an address may have filled in the form
    return tuple(given)


def _seat(form: Form, seats: int) -> int | None:
    text = form.text("seat") or "random"
    if text == "random":
        return None
    if (seat := number(text)) in range(seats):
        return seat
    raise BadOption(f"Your seat: {text!r} is none. Write a seat from 0 to {seats - 1}, or random.")


def _seed(form: Form) -> int | None:
    text = form.text("seed")
    if not text:
        return None
    if (seed := number(text)) >= 0:
        return seed
    raise BadOption(f"The seed: {text!r} is none. Write a number from 0, of at most 18 digits, or nothing.")


def _cost(form: Form) -> str:
    return str(FailurePolicy.parse(form.text("on_illegal") or next(iter(COSTS))))
