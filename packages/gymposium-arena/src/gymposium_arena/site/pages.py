"""Render a site's pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from gymposium.replies.reading import LENIENT
from gymposium_arena.entries import Entry
from gymposium_arena.results import words
from gymposium_arena.results.model import GameResult, Mean, Pairing, PlayerLost, RatedBoard, Standing
from gymposium_arena.site.charts import Chart, make_means_chart, make_ratings_chart, make_shares_chart
from gymposium_arena.site.choice import LOSSES, find_worst_losses
from gymposium_arena.site.costs import Costs, compute_costs
from gymposium_arena.site.figures import Lead, get_return, list_ratings, name_measure, rank_figures, sort_players
from gymposium_arena.site.played import PlayedLineup, PlayedMatch, make_seat_lines
from gymposium_arena.site.site import Site

MOVES: Mapping[str | None, str] = {
    "quickly": "are all repeated when the board is verified",
    "slowly": "are repeated, in a sample, when the board is verified",
    "up_to_rounding": "can be repeated up to rounding, by leaderboard verify --rerun",
    None: "are attested by the person who ran the player",
}
"""The evidence for a player's moves, by `Entry.repeats`."""


def render_pages(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the path and HTML of every page except `data.html` and match pages."""
    yield "index.html", _render_index(site)
    yield "games.html", site.render("games.html", "games.html")
    conduct = {player.player: player.conduct for player in site.results.players}
    yield "players.html", site.render("players.html", "players.html", conduct=conduct, lenient_readers=[*LENIENT])
    yield "how.html", site.render("how.html", "how.html", suite=site.board.suite)
    for game in site.results.games:
        yield site.game_path(game.game), _render_game(site, game)
    for player in site.entries:
        yield site.player_path(player), _render_player(site, player)
    met = {frozenset(pair) for lineup in site.played.lineups for pair in combinations(lineup.players, 2)}
    for one, other in combinations(site.entries, 2):
        if frozenset((one, other)) in met:
            yield site.pairing_path(one, other), _render_pairing(site, one, other)


def _render_index(site: Site) -> str:
    """Render the board's page: leaders, and every player's figures and costs."""
    results = site.results
    joint = [] if results.joint is None else list_ratings(results.joint)
    figures = {game.game: rank_figures(game) for game in results.games}
    leads = [Lead.from_figures(None, "rating", joint, site.models)]
    leads += [Lead.from_figures(game, name_measure(game), figures[game.game], site.models) for game in results.games]
    rated = [game for game in results.games if game.board is not None]
    kinds = [player for player in site.entries if player in site.models], [*site.entries.keys() - site.models]
    return site.render(
        "index.html",
        "index.html",
        joint=None if results.joint is None else RatingChart.from_board(results.joint),
        joint_figures={figure.player: figure for figure in joint},
        leads=[lead for lead in leads if lead is not None],
        figures={name: {figure.player: figure for figure in found} for name, found in figures.items()},
        kinds=[sort_players(sorted(players, key=[*site.entries].index), joint, figures) for players in kinds],
        boards=[(game, RatingChart.from_game(game)) for game in results.games if game.by_return or rated == [game]],
        costs=[costs for game in results.games if (costs := _compute_costs(site, game)) is not None],
        others=[(game, _make_chart(game.means)) for game in results.games if game.means],
        matches=sum(game.matches for game in results.games),
    )


def _compute_costs(site: Site, game: GameResult) -> Costs | None:
    return compute_costs(game, site.played.conduct[game.game], site.played.spent_in[game.game])


def _make_chart(means: Sequence[Mean]) -> Chart:
    return make_means_chart({row.player: row.returned for row in means})


def _render_game(site: Site, game: GameResult) -> str:
    """Render a game's page: board, pay-off matrix, yardsticks and rules."""
    loaded = next(one for one in site.board.suite.games if one.name == game.game).load()
    rules = [loaded.rules(seat) for seat in range(loaded.seats)]
    return site.render(
        "game.html",
        site.game_path(game.game),
        game=game,
        spec=loaded.spec,
        loaded=loaded,
        rules=rules[:1] if len(set(rules)) == 1 else rules,
        rated=None if game.board is None else RatingChart.from_game(game),
        means=_make_chart(game.means) if game.means else None,
        costs=_compute_costs(site, game),
    )


def _render_player(site: Site, player: str) -> str:
    """Render a player's page: identity, conduct, and results by game and opponent."""
    entry, results = site.entries[player], site.results
    rows = {game.game: _index_standings(game.board).get(player) for game in results.games if game.board is not None}
    rated = {name: row for name, row in rows.items() if row is not None}
    joint = None if results.joint is None else _index_standings(results.joint).get(player)
    against = {} if results.joint is None or joint is None else _get_pairings(results.joint, player)
    losses = find_worst_losses(player, site.played.lineups, site.expected)
    alone = [lineup for lineup in site.played.lineups if lineup.players == (player,)]
    return site.render(
        "player.html",
        site.player_path(player),
        player=player,
        entry=entry,
        facts=list(_list_facts(entry)),
        conduct=site.played.overall[player],
        lenient_readers=[*LENIENT],
        in_games={name: conduct[player] for name, conduct in site.played.conduct.items() if player in conduct},
        spent=site.played.spent[player],
        joint=joint,
        rated=rated,
        chart=make_ratings_chart(rated),
        means={game.game: row for game in results.games for row in game.means or () if row.player == player},
        against=against,
        shares=make_shares_chart(against),
        losses=losses[:LOSSES],
        lost=len(losses),
        seats=list(make_seat_lines(player, site.played.lineups)),
        alone=[(lineup, PageCounts.from_lineups(site, [lineup])) for lineup in alone],
        measured=[(game, one) for game in results.games for one in game.yardsticks.players if one.player == player],
    )


def _render_pairing(site: Site, one: str, other: str) -> str:
    """Render a pairing's page: results by game, and every match."""
    meetings = []
    for game in site.results.games:
        if lineups := site.find_lineups(game.game, one, other):
            share = None if game.board is None else _get_pairings(game.board, one).get(other)
            chart = make_shares_chart({} if share is None else {"": share})
            lines = list(_make_group_lines(lineups, one, other))
            meetings.append(
                Meeting(
                    game,
                    share,
                    _get_mean_returns(game, one, other),
                    chart,
                    lines,
                    PageCounts.from_lineups(site, lineups),
                )
            )
    joint = None if site.results.joint is None else _get_pairings(site.results.joint, one).get(other)
    return site.render(
        "pairing.html",
        site.pairing_path(one, other),
        one=one,
        other=other,
        joint=joint,
        chart=make_shares_chart({} if joint is None else {"": joint}),
        meetings=meetings,
    )


@dataclass(frozen=True, slots=True)
class RatingChart:
    """A rated board with its charts."""

    board: RatedBoard
    chart: Chart
    order: Sequence[str]
    """The players from best to worst; players without a rating are last."""
    payoff: Mapping[str, Mapping[str, Pairing]]
    """The pay-off matrix by player and opponent."""
    by_return: bool
    """True if the order and the chart are by mean return."""
    exploitable: Mapping[str, str]
    """Known exploitabilities by player, as text."""
    lost: Mapping[str, PlayerLost]
    """Players' losses, if matches were reviewed."""

    @classmethod
    def from_board(cls, board: RatedBoard) -> RatingChart:
        """Chart a board ordered by rating."""
        order = [row.player for row in board.standings]
        payoff = {player: _get_pairings(board, player) for player in order}
        return cls(
            board, make_ratings_chart(_index_standings(board)), order, payoff, by_return=False, exploitable={}, lost={}
        )

    @classmethod
    def from_game(cls, game: GameResult) -> RatingChart:
        """Chart a zero-sum game."""
        assert game.board is not None, "a zero-sum game has a board"
        rated = cls.from_board(game.board)
        if not game.by_return:
            return rated
        return replace(
            rated,
            chart=make_means_chart({row.player: get_return(row) for row in game.board.standings}),
            by_return=True,
            exploitable=words.format_exploitability(game.yardsticks),
            lost={one.player: one for one in game.lost.players} if game.lost else {},
        )

    @property
    def unrated(self) -> Sequence[str]:
        """The players without enough data for a rating."""
        return [row.player for row in self.board.standings if row.place is None]


@dataclass(frozen=True, slots=True)
class PageCounts:
    """Numbers of matches and of match pages."""

    matches: int
    shown: int
    """Number of matches with a page."""
    lost: int
    """Number of matches with a loser; 0 in games without winners."""
    lost_shown: int
    """Number of matches with a loser and a page."""

    @classmethod
    def from_lineups(cls, site: Site, lineups: Sequence[PlayedLineup]) -> PageCounts:
        """Count the matches of these lineups."""
        matches = [match for lineup in lineups for match in lineup.matches]
        lost = [match for match in matches if "loss" in match.results]
        shown, lost_shown = (sum(match.id in site.pages for match in some) for some in (matches, lost))
        return cls(len(matches), shown, len(lost), lost_shown)


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A match group of two players."""

    group: str
    others: Sequence[str]
    """The other players in the group's matches."""
    cells: Sequence[tuple[PlayedMatch, int, int]]
    """Each match with the seats of the two players."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two players' results against each other in a game."""

    game: GameResult
    share: Pairing | None
    returns: tuple[float, float] | None
    """Each player's mean return in matches with the other player, in games without winners."""
    chart: Chart
    lines: Sequence[GroupLine]
    pages: PageCounts


def _index_standings(board: RatedBoard) -> dict[str, Standing]:
    return {row.player: row for row in board.standings}


def _get_pairings(board: RatedBoard, player: str) -> dict[str, Pairing]:
    """Return a player's row of the pay-off matrix, in the order of the standings."""
    row = board.payoff[board.players.index(player)] if player in board.players else []
    pairings = {other: pairing for other, pairing in zip(board.players, row) if pairing is not None}
    return {row.player: pairings[row.player] for row in board.standings if row.player in pairings}


def _get_mean_returns(game: GameResult, one: str, other: str) -> tuple[float, float] | None:
    if game.returns is None or game.board is not None or not {one, other} <= set(game.players):
        return None
    i, j = game.players.index(one), game.players.index(other)
    mine, theirs = game.returns[i][j], game.returns[j][i]
    return None if mine is None or theirs is None else (mine, theirs)


def _make_group_lines(lineups: Sequence[PlayedLineup], one: str, other: str) -> Iterator[GroupLine]:
    for lineup in lineups:
        others = [player for player in lineup.players if player not in (one, other)]
        for group in lineup.groups:
            seated = [(match, match.players.index(one), match.players.index(other)) for match in group]
            yield GroupLine(group[0].group, others, sorted(seated, key=lambda cell: cell[1:]))


def _list_facts(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield a player's identity as names and values."""
    prompt = entry.prompt
    yield "Code", " ".join(entry.revision.code.values())
    yield from entry.revision.files.items()
    for name, fact in (entry.revision.facts | entry.decoding).items():
        yield name.replace("_", " "), str(fact).lower() if fact is None or isinstance(fact, bool) else str(fact)
    yield "Prompt", f"{prompt.style}, replies read by {prompt.reader}, wording version {prompt.version}"
    yield "Random draws", "none" if entry.deterministic else "from each match's seed"
    yield "Its moves", MOVES[entry.repeats]
    yield "Seed", "not drawn yet" if entry.seed is None else str(entry.seed)
    yield "Entered with", ", ".join(f"{name} {version}" for name, version in entry.versions.items())
    yield "Digest", entry.digest
