"""Oware as a text game, by the Abapa rules. Houses A, B, … are South's; a, b, … are North's."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyspiel

from gymposium.errors import WrongSeat
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, make_openspiel_factory
from gymposium.games.pictures import Picture, draw_note, draw_pits, find_last_turn
from gymposium.games.protocol import Event, Observation, Style
from gymposium.games.sowing.houses import SEATS, make_compact_template, make_full_template, name_houses
from gymposium.plugins.specs import GameSpec

LIMIT = 400
"""Move limit of a match. Without it, the engine would continue and fail at move 1001 (oware.cc)."""


class OwareBoard(NamedTuple):
    """An engine position: each seat's store, and the seeds in each house, starting with South's first house."""

    stores: list[int]
    seeds: list[int]

    def __str__(self) -> str:
        return f"{' '.join(map(str, self.stores))} | {' '.join(map(str, self.seeds))}"

    def collect_seeds(self) -> OwareBoard:
        """Return the position after each player has collected the seeds in their own houses."""
        half = len(self.seeds) // 2
        rows = (self.seeds[:half], self.seeds[half:])
        return OwareBoard([store + sum(row) for store, row in zip(self.stores, rows)], [0] * len(self.seeds))


def parse_oware_board(board: str) -> OwareBoard:
    """Parse the engine's board, such as `3 0 | 4 0 5 …`."""
    stores, seeds = board.split("|")
    return OwareBoard([int(store) for store in stores.split()], [int(seed) for seed in seeds.split()])


_SIDES = ("the lower row", "the upper row")


class Oware:
    """Wording for `oware` with any number of houses and seeds."""

    names = None

    def __init__(self, engine: pyspiel.Game, num_houses_per_player: int, num_seeds_per_house: int) -> None:
        self.houses, self.each = num_houses_per_player, num_seeds_per_house
        self.rows = name_houses(num_houses_per_player)
        self.move_pattern = re.compile(f"[{''.join(self.rows)}]")
        self._full, self._compact = (
            make_full_template(num_houses_per_player),
            make_compact_template(num_houses_per_player),
        )

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        return [self.rows[seat][action] for action in actions]

    def rules(self, seat: int, style: Style) -> str:
        mine, theirs = self.rows[seat], self.rows[1 - seat]
        if style == "compact":
            return (
                f"oware, {self.each} seeds a house at the start, sown {self.rows[0]}{self.rows[1]} and round, 2 or 3 "
                f"are captured, a grand slam captures nothing, a position that comes back ends the game, you are "
                f"{SEATS[seat]} and own {mine}\n"
            )
        first, last = self.rows[0][0], self.rows[0][-1]
        total = 2 * self.houses * self.each
        return (
            f"Oware with {self.houses} houses for each player and {self.each} seeds in every house at the start. South "
            f"owns the houses {first} to {last}, North {first.lower()} to {last.lower()}. They take turns; South moves "
            f"first. A move takes all seeds from one of your own houses and sows them, one into each house that "
            f"follows, round the board in the order {' '.join(self.rows[0])} {' '.join(self.rows[1])} and then "
            f"{first} again; only the house that they came from is left out, however often it is passed.\n"
            f"If the last seed falls into an opponent's house and makes it hold 2 or 3 seeds, you capture these into "
            f"your store; then those of the house before it, if that too is the opponent's and holds 2 or 3, and so "
            f"on backwards, up to a house that is yours or holds another number. A move that would so capture all "
            f"seeds in the opponent's houses is legal but captures none. If the opponent's houses are all empty, you "
            f"must make a move that sows a seed into them.\n"
            f"The game ends when a store has more than half of the {total} seeds, or both have half; when the player "
            f"to move has no legal move; when a position comes back (all houses and stores, and the player to move, as "
            f"they were before); and after {LIMIT} moves of both players together. Then each player also takes the "
            f"seeds that are left in their own houses. More seeds win; equal numbers are a draw.\n"
            f"A move is written as the house that is sown. You are {SEATS[seat]}, own {' '.join(mine)}, and move "
            f"{'first' if seat == 0 else 'second'}; your opponent owns {' '.join(theirs)}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        board, moves = state.observation_string(seat)[4:], state.move_number()
        over = state.is_terminal() or moves >= LIMIT
        if moves >= LIMIT:  # when the engine ends a game, it has already collected the seeds
            board = str(parse_oware_board(board).collect_seeds())
        stores, seeds = (numbers.split() for numbers in board.split(" | "))
        south, north = seeds[: self.houses], seeds[: self.houses - 1 : -1]
        if style == "compact":
            legal = "" if over else " ".join([self.rows[seat][action] for action in state.legal_actions(seat)])
            return (
                f"{self._compact % (*north, *south)}\nstores South {stores[0]} North {stores[1]}\n"
                f"moves {moves} of {LIMIT}\nlegal {legal or 'none'}\n"
            )
        turn = "" if over or state.current_player() != seat else ", to move"
        end = " The game is over." if over else ""
        return (
            f"You are {SEATS[seat]}{turn}. {moves} of at most {LIMIT} moves are played.{end} Stores: you "
            f"{stores[seat]}, your opponent {stores[1 - seat]}. The houses:\n{self._full % (*north, *south)}\n"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        board = state.observation_string(seat)[4:]
        if state.move_number() >= LIMIT:  # when the engine ends a game, it has already collected the seeds
            board = str(parse_oware_board(board).collect_seeds())
        stores, seeds = ([int(number) for number in numbers.split()] for numbers in board.split(" | "))
        south, north = seeds[: self.houses], seeds[: self.houses - 1 : -1]
        upper, lower = zip(self.rows[1][::-1], north), zip(self.rows[0], south)
        drawn = draw_pits([*upper], [*lower], (stores[1], stores[0]), last=find_last_turn(events)[-1:])
        return Picture.from_parts(
            drawn, draw_note(f"You are {SEATS[seat]}, {_SIDES[seat]}."), told=f"Seeds and stores: {board}"
        )


class OwareMatch(OpenSpielMatch):
    """A match that, unlike the engine, ends at `LIMIT` and shows which moves would repeat a position."""

    __slots__ = ("_boards",)

    def __init__(
        self,
        game: OpenSpielGame,
        state: pyspiel.State,
        events: list[Event],
        seed: int | None,
        rng: random.Random | None,
    ) -> None:
        super().__init__(game, state, events, seed, rng)
        self._boards: list[str] = [state.observation_string(0)]
        """Engine boards since the last capture, ending with the current one. No earlier board can recur.

        Each starts with the player to move: `1 | 3 0 | 4 0 5 …`."""

    def to_move(self) -> tuple[int, ...]:
        return () if len(self.events) >= LIMIT else super().to_move()

    def legal_actions(self, seat: int) -> list[int]:
        return [] if len(self.events) >= LIMIT else super().legal_actions(seat)

    def legal_moves(self, seat: int) -> list[str]:
        return [] if len(self.events) >= LIMIT else super().legal_moves(seat)

    def observe(self, seat: int, style: Style = "full") -> Observation:
        observation = super().observe(seat, style)
        if repeating := self._find_repetitions(seat):
            moves = " ".join(repeating)
            observation.text += (
                f"Moves that would bring back an earlier position and so end the game: {moves}.\n"
                if style == "full"
                else f"repeats a position {moves}\n"
            )
        return observation

    def view(self, seat: int) -> str:
        return f"{super().view(seat)} {' '.join(self._find_repetitions(seat))}"

    def returns(self) -> tuple[float, ...]:
        if len(self.events) < LIMIT:
            return super().returns()
        south, north = parse_oware_board(self._boards[-1][4:]).collect_seeds().stores
        return float((south > north) - (south < north)), float((north > south) - (north < south))

    def fork(self, rng: random.Random) -> OwareMatch:
        fork = OwareMatch(self.game, self.state.clone(), list(self.events), None, rng)
        fork._boards = list(self._boards)
        return fork

    def _apply_moves(self, moves: Mapping[int, str]) -> None:
        if len(self.events) >= LIMIT:
            raise WrongSeat(moves, ())
        super()._apply_moves(moves)
        board = self.state.observation_string(0)
        if board.split("|")[1] != self._boards[-1].split("|")[1]:
            self._boards.clear()
        self._boards.append(board)

    def _find_repetitions(self, seat: int) -> list[str]:
        """Return the seat's moves that would repeat a position."""
        houses = 2 * self.game.num_actions
        # Seeds only move forward. For a position to recur, they must have gone all the way round, so every house
        # was sown.
        if len(self._boards) < houses:
            return []
        sown = {event.move for event in self.events[1 - len(self._boards) :]}
        if len(sown) < houses - 1:
            return []
        moves = zip(self.legal_actions(seat), self.legal_moves(seat))
        return [move for action, move in moves if len(sown | {move}) == houses and self._repeats(seat, action)]

    def _repeats(self, seat: int, action: int) -> bool:
        now = parse_oware_board(self._boards[-1][4:])
        house = action + seat * self.game.num_actions
        after = OwareBoard(now.stores, sow(now.seeds, house))
        if f"{1 - seat} | {after}" not in self._boards:
            return False
        end = parse_oware_board(self.state.child(action).observation_string(0)[4:])
        return end == after.collect_seeds()  # otherwise the move captures


def sow(seeds: Sequence[int], house: int) -> list[int]:
    """Return the seeds per house after sowing one house, before any capture."""
    after, at = list(seeds), house
    after[house] = 0
    for _ in range(seeds[house]):
        at = (at + 1) % len(after)
        if at == house:
            at = (at + 1) % len(after)
        after[at] += 1
    return after


class OwareGame(OpenSpielGame):
    """Oware with a move count that the engine's board omits."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, words: Oware) -> None:
        super().__init__(spec, params, engine, words)
        self.max_decisions = LIMIT

    def begin(self, seed: int | None) -> OwareMatch:
        return OwareMatch(self, self.start(), [], seed, None)

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{state.observation_string(seat)} {state.move_number()}"


game = make_openspiel_factory("oware", Oware, OwareGame)
