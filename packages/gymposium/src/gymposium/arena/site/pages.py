"""The pages of a site, one function for each kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from gymposium.arena.entries import Entry
from gymposium.arena.results.model import GameResult, Pairing, RatedBoard, Standing
from gymposium.arena.site.charts import Chart, means_chart, ratings_chart, shares_chart
from gymposium.arena.site.choice import LOSSES, worst_losses
from gymposium.arena.site.downloads import Download
from gymposium.arena.site.played import PlayedLineup, PlayedMatch
from gymposium.arena.site.site import Site

MOVES: Mapping[str | None, str] = {
    "quickly": "are made again, all of them, when the board is verified",
    "slowly": "are made again, in a sample, when the board is verified",
    "up_to_rounding": "can be made again but for rounding, by leaderboard verify --rerun",
    None: "are attested: they stand on the word of whoever let it play",
}
"""How it can be known that a player's moves are its own, by what the player says of itself."""


def index_page(site: Site) -> str:
    """The board: who is best, how surely, and how that was found."""
    results = site.results
    order = order_of(site)
    return site.render(
        "index.html",
        "index.html",
        joint=None if results.joint is None else Rated.of(results.joint),
        order=order,
        standings={game.game: _rows(game.board) for game in results.games if game.board is not None},
        others=[(game, means_chart(game.means)) for game in results.games if game.means],
        matches=sum(game.matches for game in results.games),
    )


def games_page(site: Site) -> str:
    """All games, and how much was played of each."""
    return site.render("games.html", "games.html")


def players_page(site: Site) -> str:
    """All players, and how they behaved."""
    return site.render("players.html", "players.html", conduct={p.player: p.conduct for p in site.results.players})


def how_page(site: Site) -> str:
    """What the figures mean and how they were made."""
    return site.render("how.html", "how.html", suite=site.board.suite)


def data_page(site: Site, files: Sequence[Download], archive: int) -> str:
    """What can be taken away. `archive` is the size of the archive of all."""
    return site.render("data.html", "data.html", files=files, archive=archive)


def game_page(site: Site, game: GameResult) -> str:
    """A game: its board, who beats whom, what is known of it, its rules."""
    loaded = next(one for one in site.board.suite.games if one.name == game.game).load()
    rules = [loaded.rules(seat) for seat in range(loaded.seats)]
    return site.render(
        "game.html",
        site.game_path(game.game),
        game=game,
        spec=loaded.spec,
        loaded=loaded,
        rules=rules[:1] if len(set(rules)) == 1 else rules,
        rated=None if game.board is None else Rated.of(game.board),
        means=means_chart(game.means) if game.means else None,
    )


def player_page(site: Site, player: str) -> str:
    """A player: who it is, how it behaved, how it did in every game and against everybody."""
    entry, results = site.entries[player], site.results
    rows = {game.game: _rows(game.board).get(player) for game in results.games if game.board is not None}
    rated = {name: row for name, row in rows.items() if row is not None}
    joint = None if results.joint is None else _rows(results.joint).get(player)
    against = {} if results.joint is None or joint is None else _against(results.joint, player)
    losses = worst_losses(player, site.played.lineups, site.expected)
    alone = [lineup for lineup in site.played.lineups if lineup.players == (player,)]
    return site.render(
        "player.html",
        site.player_path(player),
        player=player,
        entry=entry,
        facts=list(_facts(entry)),
        conduct=site.played.conduct_of(player),
        in_games={name: told[player] for name, told in site.played.conduct.items() if player in told},
        spent=site.played.spent[player],
        joint=joint,
        rated=rated,
        chart=ratings_chart(rated),
        means={game.game: row for game in results.games for row in game.means or () if row.player == player},
        against=against,
        shares=shares_chart(against),
        losses=losses[:LOSSES],
        lost=len(losses),
        alone=[(lineup, _pages_of(site, [lineup])) for lineup in alone],
        measured=[(game, one) for game in results.games for one in game.yardsticks.players if one.player == player],
    )


def pairings(site: Site) -> Iterator[tuple[str, str]]:
    """Everyone who has met somebody, with whom."""
    met = {frozenset(pair) for lineup in site.played.lineups for pair in combinations(lineup.players, 2)}
    yield from (pair for pair in combinations(site.entries, 2) if frozenset(pair) in met)


def pairing_page(site: Site, one: str, other: str) -> str:
    """Two players: how they did against each other, game by game, and every match."""
    parts = []
    for game in site.results.games:
        lineups = site.lineups_of(game.game, one, other)
        if lineups:
            share = None if game.board is None else _against(game.board, one).get(other)
            parts.append(
                Meeting(
                    game,
                    share,
                    _returns(game, one, other),
                    shares_chart({} if share is None else {"": share}),
                    list(_lines(lineups, one, other)),
                    _pages_of(site, lineups),
                )
            )
    joint = None if site.results.joint is None else _against(site.results.joint, one).get(other)
    return site.render(
        "pairing.html",
        site.pairing_path(one, other),
        one=one,
        other=other,
        joint=joint,
        chart=shares_chart({} if joint is None else {"": joint}),
        parts_of=parts,
    )


@dataclass(frozen=True, slots=True)
class Rated:
    """A board of rivals with its drawings."""

    board: RatedBoard
    chart: Chart
    order: Sequence[str]
    """Best first, those last that are not rated."""
    payoff: Mapping[str, Mapping[str, Pairing]]

    @classmethod
    def of(cls, board: RatedBoard) -> Rated:
        """Of a board."""
        order = [row.player for row in board.standings]
        return cls(board, ratings_chart(_rows(board)), order, {player: _against(board, player) for player in order})

    @property
    def unrated(self) -> Sequence[str]:
        """Those for whom there is not enough data."""
        return [row.player for row in self.board.standings if row.place is None]


@dataclass(frozen=True, slots=True)
class Pages:
    """How many matches have a page of their own."""

    matches: int
    shown: int
    lost: int
    """Matches that somebody lost; of games without winners, none."""
    lost_shown: int


@dataclass(frozen=True, slots=True)
class GroupLine:
    """One match group of two players."""

    group: str
    others: Sequence[str]
    """Who else sat there."""
    cells: Sequence[tuple[PlayedMatch, int, int]]
    """Each match with the seats of the two."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two players in one game."""

    game: GameResult
    share: Pairing | None
    returns: tuple[float, float] | None
    """The mean return of each in matches with the other, in games without winners."""
    chart: Chart
    lines: Sequence[GroupLine]
    pages: Pages


def order_of(site: Site) -> list[str]:
    """All players, best first as far as the joint board goes."""
    joint = site.results.joint
    first = [] if joint is None else [row.player for row in joint.standings]
    return [*first, *(player for player in site.entries if player not in first)]


def _rows(board: RatedBoard) -> dict[str, Standing]:
    return {row.player: row for row in board.standings}


def _against(board: RatedBoard, player: str) -> dict[str, Pairing]:
    """A player's row of the pay-off matrix, in the order of the standings."""
    row = board.payoff[board.players.index(player)] if player in board.players else []
    found = {other: one for other, one in zip(board.players, row) if one is not None}
    return {row.player: found[row.player] for row in board.standings if row.player in found}


def _returns(game: GameResult, one: str, other: str) -> tuple[float, float] | None:
    if game.returns is None or game.board is not None or not {one, other} <= set(game.players):
        return None
    i, j = game.players.index(one), game.players.index(other)
    mine, theirs = game.returns[i][j], game.returns[j][i]
    return None if mine is None or theirs is None else (mine, theirs)


def _lines(lineups: Sequence[PlayedLineup], one: str, other: str) -> Iterator[GroupLine]:
    for lineup in lineups:
        others = [player for player in lineup.players if player not in (one, other)]
        for group in lineup.groups:
            seated = [(match, match.players.index(one), match.players.index(other)) for match in group]
            yield GroupLine(group[0].group, others, sorted(seated, key=lambda cell: cell[1:]))


def _pages_of(site: Site, lineups: Sequence[PlayedLineup]) -> Pages:
    matches = [match for lineup in lineups for match in lineup.matches]
    lost = [match for match in matches if "loss" in match.results]
    return Pages(
        len(matches),
        sum(match.id in site.pages for match in matches),
        len(lost),
        sum(match.id in site.pages for match in lost),
    )


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    """Who a player is, line by line."""
    prompt = entry.prompt
    yield "Code", " ".join(entry.revision.code.values())
    yield from entry.revision.files.items()
    for name, fact in (entry.revision.facts | entry.decoding).items():
        yield name.replace("_", " "), _fact(fact)
    yield "Prompt", f"{prompt.style}, answers by {prompt.reader}, wording of version {prompt.version}"
    yield "Draws", "nothing" if entry.deterministic else "from the seed of each match"
    yield "Its moves", MOVES[entry.repeats]
    yield "Seed", "not drawn yet" if entry.seed is None else str(entry.seed)
    yield "Entered with", ", ".join(f"{name} {version}" for name, version in entry.versions.items())
    yield "Digest", entry.digest


def _fact(fact: object) -> str:
    return str(fact).lower() if fact is None or isinstance(fact, bool) else str(fact)
