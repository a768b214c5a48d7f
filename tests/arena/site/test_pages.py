"""Site pages as files: figures, links, and no scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from gymposium.records import Record
from gymposium_arena.board import Board
from gymposium_arena.results import words
from gymposium_arena.results.file import compute_results, read_results, write_results
from gymposium_arena.results.model import Results
from gymposium_arena.site.build import write_site
from gymposium_arena.slugs import make_slug
from gymposium_arena.suite import parse_suite

from ..playing import play_board
from .hostile_players import HOSTILE


@dataclass
class PageParser(HTMLParser):
    """The links, ids, scripts, event handlers and text of a page."""

    links: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    scripts: list[dict[str, str | None]] = field(default_factory=list)
    handlers: list[str] = field(default_factory=list)
    text: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.text += " "
        attributes = dict(attrs)
        self.links += [attributes[name] or "" for name in ("href", "src", "action", "srcset") if name in attributes]
        self.ids |= {attributes["id"] or ""} if "id" in attributes else set()
        self.scripts += [attributes] if tag == "script" else []
        self.handlers += [name for name in attributes if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""
        self.text += " "

    def handle_data(self, data: str) -> None:
        self.text += data
        self.title += data if self._inside == "title" else ""


def parse_page(file: Path) -> PageParser:
    seen = PageParser()
    seen.feed(file.read_text(encoding="utf-8"))
    return seen


def normalize_space(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, PageParser]:
    return {file: parse_page(file) for file in sorted(site.rglob("*.html"))}


@pytest.fixture(scope="module")
def results(rated: Path) -> Results:
    return read_results(rated / "results.json")


def test_every_link_resolves_within_the_site(site: Path, pages: dict[Path, PageParser]) -> None:
    """Every link leads to an existing file and id, and every page can be reached."""
    reached = {site / "index.html"}
    for file, seen in pages.items():
        for link in seen.links:
            parts = urlsplit(link)
            assert (parts.scheme, parts.netloc) == ("", ""), f"{file}: {link}"
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert target.is_relative_to(site.resolve()), f"{file}: {link}"
            assert target.is_file(), f"{file}: {link}"
            if parts.fragment:
                assert parts.fragment in pages[target].ids, f"{file}: {link}"
            reached.add(target)
    assert reached >= pages.keys()
    assert {path.parent.name for path in pages} == {site.name, "games", "players", "pairings", "matches"}


def test_pages_run_only_the_site_scripts(site: Path, pages: dict[Path, PageParser]) -> None:
    for file, seen in pages.items():
        raw = file.read_text(encoding="utf-8")
        scripts = [script.get("src") for script in seen.scripts if script.get("type") != "application/json"]
        if file.parent.name == "matches":
            assert scripts == ["../static/steps.js"], file
        elif "script-src 'none'" in raw:
            assert scripts == [], file
        else:
            assert [Path(str(script)).name for script in scripts] == ["board.js"], file
            assert "script-src 'self'; object-src 'none'" in raw, file
        assert not seen.handlers, file
        assert "owned" not in seen.title.replace("document.title='owned'", ""), file
        assert not {"\x1b", "\u202e"} & set(raw), file


def test_hostile_names_are_escaped(site: Path) -> None:
    shown = parse_page(site / "players" / f"{make_slug(HOSTILE)}.html").text
    assert "hostile:<script>document.title='owned'</script>\"'&␛[31m⟨U+202E⟩x" in shown
    ten = parse_page(site / "players" / "mcts-10.html").text
    assert "Searcher <i>Ten</i>" in ten
    assert "as a submission" in ten
    assert "entered by Somebody , 2026-01-02" in normalize_space(ten)
    assert "A <b>small</b> board" in parse_page(site / "index.html").text


def test_match_pages_link_player_labels(site: Path) -> None:
    pages = [parse_page(file) for file in (site / "matches").iterdir() if "mcts-10" in file.name]
    assert pages
    for page in pages:
        assert "Searcher <i>Ten</i>" in page.title
        assert "Searcher <i>Ten</i> mcts-10" in normalize_space(page.text)
        assert "../players/mcts-10.html" in page.links
    assert any("(Searcher <i>Ten</i>) wins." in normalize_space(page.text) for page in pages)


def test_page_shows_the_commands_that_add_its_players(site: Path) -> None:
    added = "run --out small --add mcts-10 --game tic_tac_toe --label 'Searcher <i>Ten</i>' --by Somebody --seed 9"
    assert added in normalize_space(parse_page(site / "how.html").text)


def test_required_plugins_are_listed(tmp_path: Path) -> None:
    head = 'name = "tiles"\ngroups = 1\nplayers = ["random"]\n'
    board = Board.open_or_create(tmp_path / "board", parse_suite(f'{head}[[games]]\nname = "2048"\n'))
    assert play_board(board, 1).complete
    write_results(board, compute_results(board, samples=5))
    write_site(board, tmp_path / "site", replays=0)
    assert f"It needs gymposium-2048 {version('gymposium-2048')}." in normalize_space(
        parse_page(tmp_path / "site" / "how.html").text
    )


def test_board_page_matches_the_results(site: Path, results: Results) -> None:
    shown = normalize_space(parse_page(site / "index.html").text)
    assert results.joint is not None
    for row in results.joint.standings:
        assert words.format_rating(row) in shown
        assert words.format_rank(row.place) in shown
    assert "Not on the joint board: 1 player" in shown
    assert "Player Not played Searcher <i>Ten</i> Texas hold'em" in shown
    for game in results.games:
        page = normalize_space(parse_page(site / "games" / f"{make_slug(game.game)}.html").text)
        for mean in game.means or ():
            assert words.format_mean(mean.returned) in page
            assert words.format_mean(mean.returned) in shown
        for row in game.board.standings if game.board else ():
            assert words.format_rating(row) in page
        assert words.describe_counts(game) in page


def test_first_table_shows_the_leader_and_best_language_model(site: Path, results: Results) -> None:
    shown = normalize_space(parse_page(site / "index.html").text)
    assert "1 player is a language model; the others" in shown  # the one that reports tokens
    for board, title in ((results.joint, "All zero-sum games"), (results.games[0].board, "Tic-tac-toe")):
        assert board is not None
        first = board.standings[0]
        label = next(one.label for one in results.players if one.player == first.player)
        model = next(row for row in board.standings if row.player == HOSTILE)
        row = shown[shown.index(f"{title} {label} {words.format_rating(first)}") :]
        assert row.index(words.format_rating(model)) < row.index(
            f"rank {words.format_rank(model.place)} of {len(board.standings)} rating"
        )
    assert shown.index("Language models hostile:") < shown.index("Anchors: search and other programs")


def test_poker_is_ordered_by_returns(site: Path, results: Results) -> None:
    poker = next(game for game in results.games if game.game.startswith("universal_poker"))
    assert poker.by_return
    assert poker.board is not None
    won = [row.returned.value for row in poker.board.standings if row.returned is not None]
    assert len(won) == 4
    assert won == sorted(won, reverse=True)
    shown = normalize_space(parse_page(site / "index.html").text)
    table = shown[shown.index("Texas hold'em : what is won") :]
    places = [table.index(words.format_mean(row.returned)) for row in poker.board.standings]
    assert places == sorted(places)


def test_player_page_has_results_by_opponent_and_seat(site: Path, rated: Path) -> None:
    shown = normalize_space(parse_page(site / "players" / "greedy.html").text)
    poker = [
        record
        for _, record in Board(rated).records()
        if isinstance(record, Record) and "poker" in record.game and {"greedy", "random"} <= set(record.players)
    ]
    for seat in range(3):
        mine = [record for record in poker if record.players[seat] == "greedy"]
        results = [record.results[seat] for record in mine]
        how = " ".join(str(results.count(result)) for result in ("win", "draw", "loss"))
        mean = sum(record.returns[seat] for record in mine) / len(mine)
        assert f"random Texas hold'em {seat} {len(mine)} {how} {mean:.2f}" in shown


def test_game_page_has_rules_and_yardsticks(site: Path, rated: Path) -> None:
    page = parse_page(site / "games" / "tic_tac_toe.html")
    game = Board(rated).suite.games[0].load()
    assert normalize_space(game.rules(0)) in normalize_space(page.text)
    assert "Against random play, no player can win more than 96.7% of the matches" in normalize_space(page.text)
    assert game.spec.best_play in page.text


def test_pairing_page_lists_matches_and_counts_replays(site: Path, rated: Path) -> None:
    page = parse_page(site / "pairings" / "random--mcts-5.html")
    shown = normalize_space(page.text)
    assert "2 match groups, from the side of random 0 seat 0" in shown
    assert "2 of 4 matches have a page, including 2 of" in shown
    # with three seats: lineups with greedy and with the hostile player
    assert "12 match groups" not in shown
    assert "4 match groups, from the side of random" in shown
    assert "with greedy" in shown
    assert "with hostile:" in shown
    mine = [link for link in page.links if link.startswith("../matches/small-tic_tac_toe")]
    assert len(set(mine)) >= 2


def test_player_page_shows_worst_losses_and_conduct(site: Path, results: Results) -> None:
    page = normalize_space(parse_page(site / "players" / f"{make_slug(HOSTILE)}.html").text)
    conduct = next(one.conduct for one in results.players if one.player == HOSTILE)
    assert conduct.forfeits
    assert conduct.replies["cut off"]
    assert conduct.replies["unparsable"]
    assert "no legal move replay" in page
    assert re.search(r"Worst losses The least expected first, forfeits last: \d+ of \d+ lost matches\.", page)
    replies = sum(conduct.replies.values())
    assert f"Replies {replies}" in page
    assert f"Cut off {conduct.replies['cut off']} {conduct.replies['cut off'] / replies:.1%}" in page
    assert "0.25 s a reply" in page
    assert "2.00 for 1,000 replies" in page
    assert f"Tokens written {8 * replies:,}" in page
    assert "are attested" in page
    assert "are repeated, in a sample" in normalize_space(parse_page(site / "players" / "mcts-5.html").text)


def test_unparsable_replies_are_counted_leniently_and_strictly(site: Path, results: Results) -> None:
    conduct = next(one.conduct for one in results.players if one.player == HOSTILE)
    replies, strictly = sum(conduct.replies.values()), conduct.replies["unparsable"] + conduct.repaired
    assert conduct.repaired
    page = normalize_space(parse_page(site / "players" / f"{make_slug(HOSTILE)}.html").text)
    assert f"Repaired by its lenient reader {conduct.repaired} {conduct.repaired / replies:.1%}" in page
    assert f"Unparsable to a strict reader {strictly} {strictly / replies:.1%}" in page
    assert "lenient" not in normalize_space(parse_page(site / "players" / "random.html").text)
    table = normalize_space(parse_page(site / "players.html").text)
    assert "Read by Repaired Unparsable if strict" in table
    assert f"move-lenient {conduct.repaired} {conduct.repaired / replies:.1%} {strictly}" in table


def test_method_page_explains_the_figures(site: Path, results: Results) -> None:
    page = normalize_space(parse_page(site / "how.html").text)
    for note in results.method.notes:
        assert normalize_space(note) in page
    assert "does not answer within 60 s, forfeits that match" in page
    plugins = r"(--plugin \w+\.py )*"
    assert re.search(rf"gymposium {plugins}--plugin hostile_players\.py {plugins}leaderboard verify small", page)


def walk(folder: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            yield file.relative_to(folder).as_posix(), file.read_bytes()


def test_site_includes_the_board_files(site: Path, rated: Path) -> None:
    assert dict(walk(site / "board")) == dict(walk(rated))


def test_uncertain_results_are_flagged(board: Board, tmp_path: Path) -> None:
    """A cycle, a player without a rating, a player that never lost, and lines that are not records."""
    results = json.loads((board.path / "results.json").read_text())
    best, second, *_, last = results["joint"]["standings"]
    best |= {"bound": "at least", "low": 123.0, "high": None}
    last |= {"bound": None, "rating": None, "low": None, "high": None, "place": None}
    results["joint"]["cycles"] = [[best["player"], second["player"], "random"]]
    results["unreadable"] = 2
    (board.path / "results.json").write_text(json.dumps(results))
    write_site(board, tmp_path / "out", replays=0)
    shown = normalize_space(parse_page(tmp_path / "out" / "index.html").text)
    assert "≥ 123" in shown
    assert f"{best['player']} beats {second['player']} beats random beats {best['player']} ." in shown
    assert "Not enough data to rate hostile:" in shown
    assert "2 lines are not records" in shown
