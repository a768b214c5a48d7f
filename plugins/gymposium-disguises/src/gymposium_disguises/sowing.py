"""Mancala and oware, told as handing out from sheds on a ring road."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.wording import Wording
from gymposium.games.sowing.mancala import Mancala, parse_board
from gymposium.games.sowing.oware import LIMIT, Oware, parse_oware_board
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import Speech, join_words


class _RingDisguise(Disguise):
    """Disguise of a game with a row of places for each side, which together form a ring."""

    def __init__(self, speech: Speech, plain: Wording, each: int) -> None:
        super().__init__(speech, plain)
        words = speech.draw_plants(2 * each)
        self.sheds = words[:each], words[each:]
        """Places of each side, in ring order."""
        self.move_pattern = re.compile("|".join(words))
        self._token = speech.token

    def list_stock(self, seeds: Sequence[Sequence[object]], stores: Sequence[object]) -> list[str]:
        """Return a line for each side with the contents of its places and its store."""
        return [
            f"{side}: {join_words([f'{name} {number}' for name, number in zip(names, row)])}; barn {store}"
            for side, names, row, store in zip(self.sides, self.sheds, seeds, stores)
        ]

    def explain_owners(self) -> str:
        """Return the sentences that say who owns which places."""
        (one, other), (mine, theirs) = self.sides, self.sheds
        return (
            f"{one} owns the sheds {join_words(mine)}, {other} the sheds {join_words(theirs)}. Each side "
            f"also has a barn."
        )


class TwoBarns(_RingDisguise):
    """The disguise of `mancala`."""

    def __init__(self, speech: Speech, plain: Mancala, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, 6)
        self._limit = plain.limit
        (one, other), (mine, theirs), token = self.sides, self.sheds, self._token
        self.names = [f"{other}'s barn", *mine, f"{one}'s barn", *theirs]
        facing = join_words([f"{a} and {b}" for a, b in zip(mine, reversed(theirs))])
        self.story = (
            f"{self.explain_owners()} The ring road passes {join_words(mine)}, {one}'s barn, "
            f"{join_words(theirs)}, {other}'s barn "
            f"and then {mine[0]} again.\n"
            f"{one} and {other} move {token}s. A move takes all {token}s from one shed of your own and leaves one at "
            f"each stop that follows on the ring road, passing over the other's barn only. If the last one is left in "
            f"your barn, you move again; if not, it is the other's turn. If the last one is left in a shed of your own "
            f"that was empty (as the one that was emptied now is), and the shed opposite holds any, then those and "
            f"that last one go into your barn. Opposite each other are {facing}.\n"
            f"The match ends as soon as all sheds of one side, whichever, are empty, or after {self._limit} moves of "
            f"both together. Then each side also gets what is left in its own sheds. More {token}s win; with equal "
            f"numbers nobody wins. A move is the shed that is emptied.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        north, south, stores = parse_board(state.observation_string(seat))
        return [*self.list_stock((south, north[::-1]), stores), f"moves made: {state.move_number()} of {self._limit}"]


class TwosAndThrees(_RingDisguise):
    """`oware` with any number of houses and seeds."""

    def __init__(self, speech: Speech, plain: Oware, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, plain.houses)
        self._houses = plain.houses
        self._names = dict(zip("".join(plain.rows), [*self.sheds[0], *self.sheds[1]]))
        (one, other), (mine, theirs), token = self.sides, self.sheds, self._token
        total = 2 * plain.houses * plain.each
        self.story = (
            f"{self.explain_owners()} The ring road passes {join_words(mine)}, {join_words(theirs)} and then "
            f"{mine[0]} again.\n"
            f"{one} and {other} take turns to move {token}s. A move takes all {token}s from one shed of your own and "
            f"leaves one in each shed that follows on the ring road, passing over the one that was emptied only, "
            f"however often it comes by. If the last one is left in a shed of the other, which then holds 2 or 3, "
            f"these go into your barn; then those of the shed before it, if that too is the other's and holds 2 or 3, "
            f"and so on backwards, up to a shed that is yours or holds another number. A move that would so empty all "
            f"sheds of the other is allowed but brings nothing into your barn. If the other's sheds are all empty, you "
            f"must make a move that leaves a {token} in them.\n"
            f"The match ends when a barn holds more than half of the {total} {token}s, or both hold half; when the "
            f"side to move has no move; when a position comes back (all sheds and barns, and the side to move, as they "
            f"were before); and after {LIMIT} moves of both together. Then each side also gets what is left in its own "
            f"sheds. More {token}s win; with equal numbers nobody wins. A move is the shed that is emptied.\n"
        )

    def rename_move(self, move: str) -> str:
        return self._names[move]

    def is_over(self, state: pyspiel.State) -> bool:
        return bool(state.is_terminal() or state.move_number() >= LIMIT)

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        board = parse_oware_board(state.observation_string(seat)[4:])
        if state.move_number() >= LIMIT:  # when the engine ends a match, each side already has its own seeds
            board = board.collect_seeds()
        rows = board.seeds[: self._houses], board.seeds[self._houses :]
        return [*self.list_stock(rows, board.stores), f"moves made: {state.move_number()} of {LIMIT}"]

    def end(self, state: pyspiel.State, seat: int) -> str:
        return "The match is over."
