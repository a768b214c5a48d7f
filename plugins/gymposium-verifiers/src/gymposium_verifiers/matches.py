"""The matches of an environment: the game, its opponents, the taskset's rows, and the table of each row."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, cycle
from typing import Self

from gymposium.envs.table import OutsideSeat, Table
from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import load_named_game
from gymposium.match import MatchJob
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import check_named_player, reject_person
from gymposium.players.protocol import Player
from gymposium.replies.prompt import Prompt, get_prompt
from gymposium.replies.reading import READERS, Reader, get_reader
from gymposium.rewards.grammar import make_reward
from gymposium.rewards.protocol import CheckedReward
from gymposium.tasks.tools import list_tools
from gymposium.tasks.tools.dialects import DIALECTS
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.util.visible import plural, quantity

SEATS = 10
"""Number of seats that agents can play. Each seat has a separate role in the environment's config."""
DIALECT = DIALECTS["hermes"]
"""The dialect of tool calls in records."""
_TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class MatchRow:
    """One match to play: its seed, and the seats that agents play."""

    seed: int
    seats: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The shared settings of an environment's matches."""

    game: Game
    opponents: tuple[str, ...]
    """The players of the seats that agents do not play, in order. A single name stands for all of them."""
    lineups: tuple[tuple[int, ...], ...]
    """The seats that agents play, for each row with the same seed."""
    seed: int
    reader: Reader
    style: Style
    on_illegal: FailurePolicy
    reward: CheckedReward

    @classmethod
    def from_names(
        cls,
        game: str,
        *,
        opponents: str | Sequence[str],
        seats: int | str | Sequence[int],
        seed: int,
        prompt: Style,
        reply: str | None,
        on_illegal: str,
        reward: str,
    ) -> Self:
        """Return the matches with these settings, which are the fields of `MatchesConfig`. Opponents are not created.
        Raises `GymposiumError` for invalid settings. A config may be a file, so it raises `PermissionRequired` for a
        game or an opponent that opens a model, a path or an address without the user's permission."""
        loaded = load_named_game(game)
        lineups = _parse_lineups(seats, loaded.seats)
        names = opponents.split(",") if isinstance(opponents, str) else opponents
        named = tuple(name.strip() for name in names)
        reject_person("opponents", named, loaded.name)
        for name in named:
            check_named_player(name)
        for lineup in lineups:
            others = loaded.seats - len(lineup)
            if len(named) not in (1, others):
                raise BadOption(
                    f"opponents: got {quantity(len(named), 'player')} for {others} other {plural(others, 'seat')}. "
                    "Name one per seat, or one for all."
                )
        how = _choose_reader(reply, loaded)
        get_prompt(loaded, prompt, how)
        made = make_reward(reward)
        if hasattr(made.function, "submit"):
            raise BadOption(
                f"reward={reward!r} compares the matches of a group, but a verifiers episode is one match. Use "
                f"returns, score, clipped(…) or weighted(…)."
            )
        return cls(
            game=loaded,
            opponents=named,
            lineups=lineups,
            seed=seed,
            reader=how,
            style=prompt,
            on_illegal=FailurePolicy.parse(on_illegal),
            reward=made,
        )

    @property
    def prompt(self) -> Prompt:
        """The prompts of the seats that agents play."""
        return get_prompt(self.game, self.style, self.reader)

    @property
    def calls_tools(self) -> bool:
        """Whether replies are native tool calls, so requests list the tools."""
        return isinstance(self.reader, ToolsReader)

    @property
    def agents(self) -> frozenset[int]:
        """The seats that agents play in any row."""
        return frozenset(seat for lineup in self.lineups for seat in lineup)

    def rows(self) -> Iterator[MatchRow]:
        """Yield rows forever: each seed with every line-up of seats."""
        for seed in count(self.seed):
            for lineup in self.lineups:
                yield MatchRow(seed, lineup)

    @property
    def has_opponents(self) -> bool:
        """Whether at least one seat is not played by an agent."""
        return any(len(lineup) < self.game.seats for lineup in self.lineups)

    def table(self, row: MatchRow, names: Mapping[int, str], players: Mapping[str, Player]) -> Table:
        """Return a row's table, before any player is asked. `names` are the agents' names by seat, for the record;
        `players` are the
        opponents by name. Raises `BadOption` for a row that does not belong to these matches."""
        if row.seats not in self.lineups or row.seed < 0:
            raise BadOption(
                f"The task has seed {row.seed} and seats {row.seats}, which do not belong to {self.game.name} "
                f"with these settings. Load the tasks with the environment's settings."
            )
        others = cycle(self.opponents)
        seated = [
            OutsideSeat(self.reader, self.style, names[seat]) if seat in row.seats else players[next(others)]
            for seat in range(self.game.seats)
        ]
        number = f"verifiers-{secrets.token_hex(8)}"  # opponents see it, so it does not hold the seed
        job = MatchJob(number, self.game, seated, row.seed, on_illegal=self.on_illegal, store_returns=True)
        return Table.from_job(job)


def _parse_lineups(seats: int | str | Sequence[int], count: int) -> tuple[tuple[int, ...], ...]:
    """Return the line-ups that `seats` describes in a game of `count` seats. Raises `BadOption`."""
    lineups: tuple[tuple[int, ...], ...]
    if seats == "each":
        lineups = tuple((seat,) for seat in range(count))
    elif seats == "all":
        lineups = (tuple(range(count)),)
    else:
        lineups = (_parse_seats(seats, count),)
    if any(seat >= SEATS for lineup in lineups for seat in lineup):
        raise BadOption(f"seats={seats!r}: agents can play the seats 0 to {SEATS - 1}; leave the others to opponents.")
    return lineups


def _parse_seats(seats: int | str | Sequence[int], count: int) -> tuple[int, ...]:
    listed: Sequence[object] = (
        seats.split(",") if isinstance(seats, str) else [seats] if isinstance(seats, int) else seats
    )
    try:
        numbers = sorted(int(str(seat)) for seat in listed)
    except ValueError:
        numbers = []
    if not numbers or len({*numbers}) < len(numbers) or not {*numbers} <= {*range(count)}:
        raise BadOption(
            f"seats={seats!r}: write 'each', 'all', a seat from 0 to {count - 1}, or several of them, each once: '0,1'."
        )
    return tuple(numbers)


def _choose_reader(reply: str | None, game: Game) -> Reader:
    """Return the reader called `reply`, or the game's default. Raises `UnknownName` and `BadOption`."""
    offers = list_tools(game)
    if reply is None:
        reply = _TOOLS if offers else "move"
    if reply != _TOOLS:
        return get_reader(reply)
    if not offers:
        raise BadOption(f"reply='tools': {game.name} has no tools to call. Write {', '.join(map(repr, READERS))}.")
    return ToolsReader(DIALECT)
