"""Play in the viewer with plain forms: choices, refusals, records, and hidden information."""

from __future__ import annotations

import json
import random
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Match
from gymposium.match import MatchResult
from gymposium.match.ending import Ending
from gymposium.players.protocol import Ask, Reply
from gymposium.records import Record, verify_file
from gymposium.replies.reading import READERS
from gymposium_viewer.app import export_pages, make_viewer
from gymposium_viewer.playing import table as table_module
from gymposium_viewer.playing.choice import MatchChoice
from gymposium_viewer.playing.forms import Form
from gymposium_viewer.playing.state import SeatView, make_seat_view
from gymposium_viewer.playing.store import MAX_OPEN, MatchStore
from gymposium_viewer.playing.table import BrowserTable, PlayerPool

PLAYED = Path("played/matches.jsonl")


@dataclass
class Visitor:
    """A browser without scripts, which keeps every page that it received."""

    address: str
    status: int = 0
    url: str = ""
    html: str = ""
    sent: list[str] = field(default_factory=list)

    def get(self, path: str) -> str:
        return self._ask(urllib.request.Request(urljoin(self.address, path)))

    def post(self, path: str, origin: str | None = None, **fields: Any) -> str:
        """Posts fields as the form on the page does, with the page's token unless another is given."""
        token = re.search(r'name="token" value="([^"]+)"', self.html)
        body = urlencode({"token": token[1] if token else "", **fields}, doseq=True).encode()
        sender = {"Origin": self.address.rstrip("/") if origin is None else origin}
        return self._ask(urllib.request.Request(urljoin(self.address, path), body, sender))

    def begin(self, game: str, **fields: Any) -> str:
        """Chooses a game, and waits for the visitor's turn or the end."""
        self.get("play/new.html?" + urlencode({"game": game}))
        return self.until_settled(self.post("play/new.html", **{"game": game, "opponent": "random"} | fields))

    def move(self, **said: Any) -> str:
        turn = re.search(r'name="turn" value="(\d+)"', self.html)
        return self.until_settled(self.post(self.url, **{"turn": turn[1] if turn else ""} | said))

    def until_settled(self, html: str) -> str:
        """Waits as the page does: the server holds the answer back until there is something new."""
        while found := re.search(r'data-wait="([^"]+)"', html):
            with urllib.request.urlopen(urljoin(self.url, found[1])) as events:
                self.sent.append(events.read().decode())
            html = self.get(self.url)
        return html

    @property
    def text(self) -> str:
        """The text of the page."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", re.split(r"<main\b[^>]*>", self.html)[-1])).split())

    def _ask(self, request: urllib.request.Request) -> str:
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            self.status, self.url, self.html = answer.status, answer.url, answer.read().decode()
        self.sent.append(self.html)
        return self.html


@pytest.fixture
def visitor(serve: Any, tmp_path: Path) -> Visitor:
    return Visitor(serve(tmp_path))


def records(folder: Path) -> list[Record]:
    return [Record.parse(line) for line in (folder / PLAYED).read_text(encoding="utf-8").splitlines()]


def test_match_is_played_recorded_and_verifies(visitor: Visitor, tmp_path: Path) -> None:
    visitor.begin("kuhn_poker", seat="1", seed="7", on_illegal="forfeit")
    while 'name="choice"' in visitor.html:
        visitor.move(choice="0")
    assert re.search(r"You (win|lose)\.", visitor.text)
    [record] = records(tmp_path)
    assert (record.game, record.players, record.seed) == ("kuhn_poker", ["random", "human"], 7)
    assert record.id in visitor.text
    checked = verify_file(tmp_path / PLAYED)
    assert not checked.problems
    visitor.get("matches/played/matches.jsonl/1.html")
    assert "Verified Yes" in visitor.text


def test_rematch_keeps_the_seed_and_rotates_seats(visitor: Visitor, tmp_path: Path) -> None:
    visitor.begin("kuhn_poker", seat="0", seed="5")
    while 'name="choice"' in visitor.html:
        visitor.move(choice="0")
    again = visitor.html.split("<form")[2]
    assert "with seats rotated" in again
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', again))
    visitor.until_settled(visitor.post("play/new.html", **fields))
    while 'name="choice"' in visitor.html:
        visitor.move(choice="0")
    first, second = records(tmp_path)
    assert (first.players, second.players) == (["human", "random"], ["random", "human"])
    assert first.seed == second.seed == 5
    assert first.events[:2] == second.events[:2]


def test_typing_error_costs_nothing(visitor: Visitor, tmp_path: Path) -> None:
    visitor.begin("tic_tac_toe", seat="0")
    for wrong, said in (("z9", "'z9' is not a legal move here."), ("", "Enter a move first."), ("10", "'10' is not")):
        visitor.move(typed=wrong)
        assert visitor.status == 400
        assert said in visitor.text
    visitor.move(typed=" b2 ")
    assert visitor.status == 200
    visitor.move(typed="1")
    while 'name="choice"' in visitor.html:
        visitor.move(choice="0")
    [record] = records(tmp_path)
    mine = [turn for turn in record.turns if turn["seat"] == 0]
    assert {turn["reading"] for turn in mine} == {"move"}
    assert mine[0]["text"].strip() == "b2"


def test_answer_counts_once(visitor: Visitor) -> None:
    visitor.begin("tic_tac_toe", seat="0")
    visitor.move(choice="4")
    assert visitor.status == 200
    visitor.post(visitor.url, turn="1", choice="0")
    assert visitor.status == 400
    assert "That answer was for an earlier position." in visitor.text


def test_free_text_keeps_its_lines(visitor: Visitor, tmp_path: Path) -> None:
    visitor.begin("trace", opponent="")
    visitor.move(typed="1\r\n2\r\n")
    [record] = records(tmp_path)
    assert record.turns[0]["text"] == "1\n2\n"
    assert "Your score is" in visitor.text


def test_text_without_a_tool_call_costs_nothing(visitor: Visitor) -> None:
    visitor.begin("mail", opponent="")
    visitor.move(typed="search for the answer")
    assert visitor.status == 400
    assert "This is not a call of a tool." in visitor.text


def test_hidden_draw_is_revealed_only_at_the_end(visitor: Visitor, tmp_path: Path) -> None:
    """The other card follows from the seed."""
    visitor.begin("kuhn_poker", seat="0")
    assert 'name="choice"' in visitor.html
    before = len(visitor.sent)
    while 'name="choice"' in visitor.html:
        before = len(visitor.sent)
        visitor.move(choice="0")
    [record] = records(tmp_path)
    assert not any(str(record.seed) in page or record.id in page for page in visitor.sent[:before])
    assert str(record.seed) in visitor.html


def test_pages_do_not_depend_on_the_other_card(visitor: Visitor) -> None:
    """For two deals that this seat cannot distinguish, all bytes are equal, except for the id of the match."""
    deals: dict[str, dict[str, int]] = {}
    for seed in range(40):
        mine, other = [event.move for event in load_game("kuhn_poker").new(seed).events]
        deals.setdefault(mine, {})[other] = seed
    assert len(deals) == 3
    for others in deals.values():
        pages = set()
        for seed in others.values():
            html = visitor.begin("kuhn_poker", seat="0", seed=str(seed))
            pages.add(html.replace(visitor.url.rpartition("/")[2].removesuffix(".html"), "MATCH"))
        assert len(others) == 2
        assert len(pages) == 1


def list_indistinguishable_matches(
    game: str, moves: Sequence[dict[int, str]], other: Sequence[dict[int, str]]
) -> list[Match]:
    worlds = []
    for played in (moves, other):
        match = load_game(game).new(1)
        for joint in played:
            match.apply(joint)
        worlds.append(match)
    assert worlds[0].view(0) == worlds[1].view(0)
    assert worlds[0].events != worlds[1].events
    return worlds


@pytest.mark.parametrize(
    ("game", "moves", "other"),
    [
        ("phantom_ttt", [{0: "a3"}, {1: "b2"}], [{0: "a3"}, {1: "c1"}]),
        ("goofspiel(num_cards=4)", [{0: "bid 1", 1: "bid 2"}], [{0: "bid 1", 1: "bid 4"}]),
    ],
)
def test_unseen_moves_are_not_shown(
    game: str, moves: Sequence[dict[int, str]], other: Sequence[dict[int, str]]
) -> None:
    match = load_game(game).new(1)
    before, since = make_seat_view(match, 0, (), None, 0), len(match.events)
    one, two = (
        make_seat_view(world, 0, (), before, since) for world in list_indistinguishable_matches(game, moves, other)
    )
    assert one == two


@settings(max_examples=25)
@given(
    st.sampled_from(["kuhn_poker", "leduc_poker", "crazy_eights", "hearts"]),
    st.integers(0, 1000),
    st.integers(0, 6),
    st.randoms(use_true_random=False),
)
def test_view_is_the_same_in_every_world_of_the_seat(game: str, seed: int, plies: int, rng: random.Random) -> None:
    match = load_game(game).new(seed)
    befores: list[SeatView | None] = [None]
    for _ in range(plies):
        if not (seats := match.to_move()):
            return
        befores.append(make_seat_view(match, seats[0], (), None, 0))
        match.apply({seat: rng.choice(match.legal_moves(seat) or ["?"]) for seat in seats})
    if not (seats := match.to_move()):
        return
    world = match.resample(seats[0], rng)
    since = max(0, len(match.events) - 3)
    views = [make_seat_view(either, seats[0], (), befores[-1], since) for either in (match, world)]
    assert views[0] == views[1]


@pytest.mark.parametrize(
    ("game", "opened"), [("connect_four", ""), ("connect_four(disguise=0)", ""), ("connect_four(disguise=7)", " open")]
)
def test_form_lists_the_disguise_last_and_collapsed(visitor: Visitor, game: str, opened: str) -> None:
    form = visitor.get("play/new.html?" + urlencode({"game": game}))
    assert re.findall(r'<(?:input|select)[^>]* name="([^"]+)"', form) == [
        *("token", "game", "parameter.rows", "parameter.columns", "parameter.x_in_row"),
        *("opponent", "seat", "seed", "on_illegal", "parameter.disguise"),
    ]
    assert f"<details{opened}><summary>More</summary>" in form


def test_opponents_moves_are_shown_in_open_games() -> None:
    match = load_game("tic_tac_toe").new(0)
    before, since = make_seat_view(match, 0, (), None, 0), len(match.events)
    match.apply({0: "b2"})
    match.apply({1: "a1"})
    seen = make_seat_view(match, 0, match.legal_moves(0), before, since)
    assert list(seen.moves) == [(1, "a1")]
    assert [line for line, new in seen.lines if new] == ["2 . x .", "1 o . ."]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"game": "kuhn_pokr"}, "kuhn_poker"),
        ({"game": "tic_tac_toe", "opponent": "rndom"}, "Unknown player 'rndom'. Did you mean 'random'"),
        ({"game": "tic_tac_toe", "opponent": "human"}, "Enter another opponent"),
        ({"game": "tic_tac_toe", "opponent": "lm:runs/mine"}, "gymposium --allow lm:runs/mine"),
        ({"game": "tic_tac_toe", "opponent": "api:x?base_url=http://a.test&key=HOME"}, "needs your permission"),
        ({"game": "tic_tac_toe", "opponent": ""}, "No opponent. Enter a player"),
        ({"game": "tic_tac_toe", "opponent": ["random", "random"]}, "for a game with one other seat"),
        ({"game": "tic_tac_toe", "seat": "2"}, "Enter a seat from 0 to 1, or random."),
        ({"game": "tic_tac_toe", "seed": "-1"}, "Enter a non-negative number"),
        ({"game": "tic_tac_toe", "on_illegal": "shrug"}, "Unknown policy"),
        ({"game": "goofspiel", "parameter.num_cards": "1000"}, "num_cards=1000: must be"),
        ({"game": "goofspiel", "parameter.num_crads": "4"}, "num_cards"),
    ],
)
def test_invalid_choices_are_refused(visitor: Visitor, fields: dict[str, Any], said: str) -> None:
    visitor.get("play/new.html?game=tic_tac_toe")
    visitor.post("play/new.html", **{"opponent": "random"} | fields)
    assert visitor.status == 400
    assert said in visitor.text


def make_run(path: Path, *complete: str, games: Any = ("tic_tac_toe",), steps: int = 4) -> None:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"games": games, "steps": steps}))
    (path / "versions.json").write_text("{}")
    for name in complete:
        (path / name).mkdir()
        (path / name / "COMPLETE").touch()


def test_trained_models_of_the_folder_may_be_chosen(
    visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYMPOSIUM_ALLOW", "")
    make_run(tmp_path / "runs" / "first", "cold_start", "adapter")
    make_run(tmp_path / "runs" / "mixed", "model", games={"kuhn_poker": 2.0, "tic_tac_toe": 1.0})
    make_run(tmp_path / "runs" / "imitated", "cold_start", steps=0)
    make_run(tmp_path / "runs" / "running", "cold_start")
    make_run(tmp_path / "runs" / "cards", "model", games=["kuhn_poker"])

    def offered(query: str) -> list[str]:
        select = re.search(r'<select id="trained".*?</select>', visitor.get(f"play/new.html?{query}"))
        return re.findall(r"<option[^>]*>([^<]*)", select[0]) if select else []

    assert offered("game=tic_tac_toe") == ["none", "runs/first", "runs/imitated", "runs/mixed"]
    assert offered("game=kuhn_poker(disguise=1)") == ["none", "runs/cards", "runs/mixed"]
    assert offered("game=blackjack") == []
    assert "selected" not in visitor.get("play/new.html?game=tic_tac_toe&trained=runs/first").partition('id="seat"')[0]
    player = f"lm:{tmp_path / 'runs' / 'first'}"
    visitor.post("play/new.html", game="tic_tac_toe", opponent=player)
    assert (visitor.status, "needs your permission" in visitor.text) == (400, True)
    visitor.post("play/new.html", game="tic_tac_toe", opponent="random", trained="runs/running")
    assert (visitor.status, "No trained model of 'runs/running'" in visitor.text) == (400, True)
    visitor.begin("tic_tac_toe", trained="runs/first", seat="0")
    assert visitor.status == 200
    assert "The match cannot be played" in visitor.text  # this model has no weights
    assert str(tmp_path / "runs" / "first") in visitor.text


def test_player_that_refuses_the_game_says_why(visitor: Visitor, tmp_path: Path) -> None:
    visitor.begin("kuhn_poker", seat="1", opponent="exact")
    assert "It has no result." in visitor.text
    assert "exact optima need two seats that alternate" in visitor.text
    assert records(tmp_path)[0].ending.broke_off


def test_starting_a_match_needs_the_form_token(visitor: Visitor) -> None:
    asked = {"game": "tic_tac_toe", "opponent": "random"}
    visitor.get("play/new.html?" + urlencode(asked))
    visitor.post("play/new.html", token="guessed", **asked)
    assert visitor.status == 403
    assert "This form is from an earlier server" in visitor.text
    visitor.get("play/new.html?game=tic_tac_toe")
    visitor.post("play/new.html", origin="http://evil.example", **asked)
    assert visitor.status == 403
    visitor.get("play.html")
    assert "In progress" not in visitor.text
    visitor.begin("tic_tac_toe", seat="0")
    match = visitor.url
    visitor.post(match, token="guessed", turn="1", choice="0")
    assert visitor.status == 403
    visitor.get(match)
    assert 'name="turn" value="1"' in visitor.html


def test_oversized_request_is_refused(visitor: Visitor) -> None:
    visitor.begin("trace", opponent="")
    visitor.move(typed="x" * (1 << 20))
    assert visitor.status == 413


def test_match_can_be_left(visitor: Visitor, tmp_path: Path) -> None:
    visitor.begin("tic_tac_toe", seat="0")
    match = visitor.url
    visitor.get("play.html")
    assert "your turn" in visitor.text
    visitor.get(match)
    visitor.post(match, leave="yes")
    assert "In progress" not in visitor.text
    visitor.get(match)
    assert (visitor.status, "You left this match." in visitor.text) == (410, True)
    assert not (tmp_path / PLAYED).exists()


def test_games_are_found_without_a_script(visitor: Visitor) -> None:
    visitor.get("play.html?find=poker+smallest")
    assert re.findall(r"new\.html\?game=(\w+)", visitor.html) == ["kuhn_poker"]


def test_form_is_filled_in_from_the_url(visitor: Visitor) -> None:
    visitor.get("play/new.html?" + urlencode({"game": "goofspiel(num_cards=5)", "opponent": "mcts-25", "seat": "1"}))
    assert re.search(r'name="parameter.num_cards" value="5"[^>]* min="\d+" max="\d+"', visitor.html)
    assert 'name="opponent" value="mcts-25"' in visitor.html
    assert '<option value="1" selected>' in visitor.html


def test_abandoned_tabs_do_not_block_new_matches(serve: Any, tmp_path: Path) -> None:
    address = serve(tmp_path)
    tabs = [Visitor(address) for _ in range(MAX_OPEN + 1)]
    for tab in tabs:
        tab.begin("tic_tac_toe", seat="0")
        assert (tab.status, "Your turn" in tab.text) == (200, True)
    first, second = tabs[:2]
    first.move(typed="b2")
    assert first.status == 410
    assert "This match was dropped when another began." in first.text
    assert "This one had been idle longest" in first.text
    again = re.search(r'main-action" href="([^"]+)"', first.html)
    assert again is not None
    first.get(urljoin(first.url, unescape(again[1])))
    assert 'value="tic_tac_toe"' in first.html
    second.get(second.url)
    assert (second.status, "Your turn" in second.text) == (200, True)


def test_ended_match_page_says_so(serve: Any, tmp_path: Path) -> None:
    visitor = Visitor(serve(tmp_path))
    visitor.begin("tic_tac_toe", seat="0")
    page = visitor.url
    visitor.post(page, leave="yes")
    visitor.get(page.replace(".html", "/events"))
    assert (visitor.status, "You left this match." in visitor.text) == (410, True)
    visitor.get("play/unknown.html")
    assert (visitor.status, "Unknown match" in visitor.text) == (404, True)


# -- without a server


def choice(text: str) -> MatchChoice:
    return MatchChoice.from_form(Form.from_query(text))


def test_rotation_moves_every_player_one_seat_on() -> None:
    first = choice("game=hearts&opponent=random&opponent=greedy&opponent=mcts-25&seat=3")
    second = first.rotate_seats()
    assert (second.seat, second.opponents) == (0, ("random", "greedy", "mcts-25"))
    third = second.rotate_seats()
    assert (third.seat, third.opponents) == (1, ("mcts-25", "random", "greedy"))
    assert third.rotate_seats().rotate_seats() == first


def test_last_opponent_fills_the_remaining_seats() -> None:
    assert choice("game=hearts&opponent=random&opponent=greedy&seat=0").opponents == ("random", "greedy", "greedy")


@dataclass
class FaultyPlayer:
    """A player that raises, or waits until it is released."""

    let_go: threading.Event | None = None
    name: str = "random"
    reader: Any = READERS["move"]
    style: Any = "full"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        if self.let_go is None:
            raise RuntimeError("<b>out of cheese</b>")
        self.let_go.wait()
        return [Reply((ask.legal_moves or [""])[0]) for ask in asks]


def begin_against(player: FaultyPlayer, kept: list[MatchResult]) -> BrowserTable:
    bench = PlayerPool()
    bench.put({"random": player})

    def keep(played: MatchResult) -> str:
        kept.append(played)
        return ""

    return BrowserTable(choice("game=tic_tac_toe&opponent=random&seat=1"), bench, keep)


def test_crashing_player_forfeits() -> None:
    kept: list[MatchResult] = []
    table = begin_against(FaultyPlayer(), kept)
    table.wait(60)
    assert table.state.end is not None
    said = ["You win.", "Seat 0 (random) crashed (RuntimeError: <b>out of cheese</b>) and forfeits."]
    assert table.state.end.sentences == said
    assert kept[0].ending == Ending("crashed", 0, "RuntimeError: <b>out of cheese</b>")


def test_hanging_player_forfeits_and_the_page_stays_responsive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "TIME_LIMIT", 0.05)
    kept: list[MatchResult] = []
    let_go = threading.Event()
    table = begin_against(FaultyPlayer(let_go), kept)
    assert table.state.is_waiting or table.state.end
    table.wait(60)
    let_go.set()
    assert table.state.end is not None
    assert table.state.end.sentences[1] == "Seat 0 (random) did not answer in time and forfeits."
    assert kept[0].ending == Ending("timed out", 0)


def test_uncreatable_player_says_why() -> None:
    wanted = replace(choice("game=tic_tac_toe&opponent=random&seat=1"), opponents=("gone",))
    table = BrowserTable(wanted, PlayerPool(), lambda played: "")
    table.wait(60)
    assert table.state.phase == "failed"
    assert table.state.error.startswith("Unknown player 'gone'.")


def test_no_answer_is_taken_while_others_think() -> None:
    let_go = threading.Event()
    table = begin_against(FaultyPlayer(let_go), [])
    assert table.play(0, "b2").startswith("That answer was for an earlier position.")
    let_go.set()
    table.wait(60)
    assert table.state.phase == "yours"
    assert table.play(1, "b2") == ""


def test_pooled_player_serves_one_match_at_a_time() -> None:
    bench = PlayerPool()
    one, two = bench.take(["random", "random"]), bench.take(["random"])
    assert one["random"] is not two["random"]
    bench.put(one)
    assert bench.take(["random"])["random"] is one["random"]


def test_unrecordable_match_says_so(tmp_path: Path) -> None:
    (tmp_path / "played").write_text("in the way")
    table = MatchStore(tmp_path).begin(choice("game=trace"))
    table.wait(60)
    assert table.play(1, "nothing") == ""
    table.wait(60)
    assert table.state.end is not None
    assert table.state.end.record is None
    assert "could not be recorded in played/matches.jsonl" in table.state.end.sentences[-1]


def test_play_needs_a_server_of_a_folder(runs: Path, tmp_path: Path) -> None:
    assert "play.html" in [tab.path for part in make_viewer(runs).parts for tab in part.tabs]
    single = make_viewer(runs / "connect_four.jsonl")
    assert "play.html" not in [tab.path for part in single.parts for tab in part.tabs]
    export_pages(runs, tmp_path / "site")
    assert "play.html" not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert not [*(tmp_path / "site").glob("play*.html")]


def test_invalid_game_name_is_refused() -> None:
    with pytest.raises(GymposiumError, match="Invalid game name"):
        choice("game=%3Cscript%3E")
