"""Search is strong, deterministic, and blind to hidden information."""

from __future__ import annotations

import itertools
import os
import random
import threading
from collections import Counter
from dataclasses import replace

import pyspiel
import pytest

from gymposium import load_game, make_player
from gymposium.errors import NoSampler
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.poker.kuhn_poker import KuhnPoker
from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.match import GameRefused, MatchJob, play
from gymposium.players.mcts import MctsPlayer, Thought
from gymposium.players.protocol import Ask, MatchContext
from gymposium.players.search import engine
from gymposium.records import Record
from gymposium.records.scores import Score

SEARCHED = [
    "tic_tac_toe",
    "connect_four(rows=5,columns=4,x_in_row=3)",
    "kuhn_poker",
    "leduc_poker",
    "liars_dice",
    "goofspiel(num_cards=4)",
    "phantom_ttt",
]


def asked(match: Match, seat: int, seed: int) -> Ask:
    return Ask(MatchContext(match, "m", seed), seat, 0)


@pytest.mark.parametrize("game", [*SEARCHED, pytest.param("gin_rummy(hand_size=3)", marks=pytest.mark.slow)])
def test_equal_seeds_search_equally(game: str) -> None:
    def run() -> list[list[Event]]:
        players = [make_player("mcts-10"), make_player("random")]
        return [p.events for p in play(MatchJob(str(i), load_game(game), players, i) for i in range(4))]

    assert run() == run()


@pytest.mark.parametrize(
    ("game", "simulations", "n", "least"),
    [
        ("tic_tac_toe", 100, 24, 0.5),
        ("connect_four", 100, 10, 0.6),
        pytest.param("kuhn_poker", 100, 300, 0, marks=pytest.mark.slow),
        ("leduc_poker", 100, 60, 0),
        pytest.param("liars_dice", 100, 40, 0.2, marks=pytest.mark.slow),
        pytest.param("goofspiel(num_cards=4,points_order=descending)", 100, 40, 0.2, marks=pytest.mark.slow),
        pytest.param("goofspiel", 40, 40, 0, marks=pytest.mark.slow),
        pytest.param("phantom_ttt", 100, 24, 0.2, marks=pytest.mark.slow),
        # with ten cards random play seldom lets a hand end: see the benchmark
        pytest.param("gin_rummy(hand_size=3)", 8, 20, 0, marks=pytest.mark.slow),
    ],
)
def test_search_beats_random(game: str, simulations: int, n: int, least: float) -> None:
    """The whole interval of the mean return over both seats lies above a mark that is easily reached."""
    mcts, other = make_player(f"mcts-{simulations}"), make_player("random")
    jobs = [MatchJob(str(i), load_game(game), [mcts, other] if i % 2 else [other, mcts], i // 2) for i in range(2 * n)]
    total = Score()
    for played in play(jobs):
        total.add(played, 1 - int(played.job.id) % 2)
    assert total.mean_return().low > least, total.mean_return()
    assert total.readings["move"] == sum(total.readings.values())
    assert isinstance(mcts, MctsPlayer)
    assert mcts.counts["no world"] == 0


def test_search_takes_a_win_and_blocks_a_loss() -> None:
    game = load_game("tic_tac_toe")
    for moves, right in ((["a1", "b2", "a2", "b3"], {"a3"}), (["a1", "b2", "a2"], {"a3"})):
        match = game.load([Event(i % 2, move) for i, move in enumerate(moves)])
        [seat] = match.to_move()
        assert {MctsPlayer(400).act([asked(match, seat, s)])[0].text for s in range(5)} == right


def kuhn(deal: tuple[str, str], moves: tuple[str, ...]) -> Match:
    chance = [Event(CHANCE, f"Deal:{'JQK'.index(card)}") for card in deal]
    return load_game("kuhn_poker").load([*chance, *(Event(i % 2, move) for i, move in enumerate(moves))])


@pytest.mark.parametrize("moves", [(), ("bet",), ("pass",), ("pass", "bet")], ids="-".join)
@pytest.mark.parametrize("card", "JQK")
def test_kuhn_poker_search_ignores_the_other_card(card: str, moves: tuple[str, ...]) -> None:
    """The same information state and seed give the same move, whatever the other holds: 40 seeds, so that
    peeking at anything would show (with the queen facing a bet it would fold to the king, call the jack)."""
    seat = len(moves) % 2
    others = [other for other in "JQK" if other != card]
    deals = [(card, other) if seat == 0 else (other, card) for other in others]
    player = MctsPlayer(30)
    chosen = [[player.act([asked(kuhn(deal, moves), seat, s)])[0].text for s in range(40)] for deal in deals]
    assert chosen[0] == chosen[1]


def test_search_with_the_queen_is_undecided() -> None:
    """So the test above can fail: a search that knew the card would always know what to do."""
    player = MctsPlayer(30)
    moves = Counter(player.act([asked(kuhn(("K", "Q"), ("bet",)), 1, s)])[0].text for s in range(40))
    assert set(moves) == {"pass", "bet"}


def test_leduc_poker_search_ignores_the_other_card() -> None:
    game, player, compared = load_game("leduc_poker"), MctsPlayer(20), 0
    for seed in range(12):
        match = game.new(seed)
        rng = random.Random(seed)
        for _ in range(seed % 5):
            if match.to_move():
                [seat] = match.to_move()
                match.apply({seat: rng.choice([m for m in match.legal_moves(seat) or [] if m != "fold"])})
        for seat in match.to_move():
            other = 1 - seat
            for card in range(6):
                events = list(match.events)
                events[other] = Event(CHANCE, f"Chance outcome:{card}")
                if events[other] in (e for i, e in enumerate(match.events) if i != other):
                    continue
                world = game.load(events)
                assert world.view(seat) == match.view(seat)
                moves = [player.act([asked(one, seat, 7)])[0].text for one in (match, world)]
                assert moves[0] == moves[1]
                compared += 1
    assert compared > 30


def test_search_cannot_foresee_the_public_card() -> None:
    """Leduc, one world for each public card that chance would turn up next: the seed of the match decides
    it, and the search must not know it."""
    game, player = load_game("leduc_poker"), MctsPlayer(20)
    deal = game.new(1).events
    worlds = [game.load(deal, seed) for seed in range(6)]
    public = set()
    for world in worlds:
        ahead = game.load(deal, world.seed)
        for seat in (0, 1):
            ahead.apply({seat: "call"})
        public.add(ahead.events[-1])
    assert len(public) > 1
    assert len({player.act([asked(world, 0, 3)])[0].text for world in worlds}) == 1


@pytest.mark.parametrize(
    ("game", "why"),
    [
        ("openspiel:hearts", "random deals almost never match a seat's observations"),
        ("openspiel:gin_rummy", "random deals almost never match"),
        ("openspiel:battleship", "random hidden moves almost never match"),
        ("openspiel:negotiation", "its engine draws chance internally"),
        ("openspiel:2048", "the engine's positions differ in legal moves"),
    ],
)
def test_unsuitable_games_are_refused(game: str, why: str) -> None:
    with pytest.raises(GameRefused, match=f"mcts-5 does not play {game}: {why}.*Use the random player instead"):
        list(play([MatchJob("m", load_game(game), [make_player("mcts-5")] * load_game(game).seats, 0)]))


def test_game_can_declare_itself_unsearchable() -> None:
    game = load_game("kuhn_poker")
    spec = replace(game.spec, unsearchable="its author asks for people to play it")
    asked_of = asked(OpenSpielGame(spec, {"disguise": 0}, pyspiel.load_game("kuhn_poker"), KuhnPoker()).new(0), 0, 0)
    with pytest.raises(NoSampler, match="mcts-5 does not play kuhn_poker: its author asks for people to play it"):
        MctsPlayer(5).act([asked_of])


def test_free_text_is_not_searched() -> None:
    spec = replace(load_game("kuhn_poker").spec, free_text=True)
    asked_of = asked(OpenSpielGame(spec, {"disguise": 0}, pyspiel.load_game("kuhn_poker"), KuhnPoker()).new(0), 0, 0)
    with pytest.raises(NoSampler, match=r"it is a free-text game.*Use a person"):
        MctsPlayer(5).act([asked_of])


@pytest.mark.parametrize(
    "game",
    [
        "openspiel:hex(board_size=3)",
        "openspiel:pig(winscore=10)",  # dice
        "openspiel:blackjack",  # one seat
        "openspiel:matrix_rps",  # at once
        "openspiel:cliff_walking(horizon=20)",  # rewards all along, and the same position again and again
        "openspiel:dark_hex(num_cols=3,num_rows=3)",
    ],
)
def test_search_plays_other_engine_games(game: str) -> None:
    seats = load_game(game).seats
    [played] = play([MatchJob("m", load_game(game), [make_player("mcts-10")] * seats, 0)])
    assert played.ending.seat is None


@pytest.mark.parametrize("game", SEARCHED)
def test_any_player_plays_any_seat(game: str) -> None:
    for pair in itertools.product(("random", "mcts-5"), repeat=2):
        jobs = [MatchJob(str(i), load_game(game), [make_player(name) for name in pair], i) for i in range(3)]
        assert all(p.ending.seat is None and sum(p.returns) == 0 for p in play(jobs))


@pytest.mark.parametrize("game", SEARCHED)
def test_records_do_not_depend_on_concurrent_searches(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, all at once on one thread, and all at once on several: the same records."""

    def records(at_once: int) -> list[str]:
        players = [make_player("mcts-15"), make_player("mcts-10")]
        jobs = [MatchJob(str(i), load_game(game), players, i, player_seed=100 + i) for i in range(6)]
        return sorted(Record.from_match(played).line() for played in play(jobs, at_once=at_once))

    alone = records(1)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    together = records(6)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert alone == together == records(6)


def test_several_positions_are_searched_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above compares two things: with four cores, four bots are at work at once."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    meeting = threading.Barrier(4, timeout=60)

    class Meeting(engine.EngineSearch):
        def move(self) -> str:
            meeting.wait()
            return super().move()

    searches = [Meeting(load_game("connect_four").new(seed), 0, 50, random.Random(seed)) for seed in range(4)]
    plain = [engine.EngineSearch(load_game("connect_four").new(seed), 0, 50, random.Random(seed)) for seed in range(4)]
    assert engine.run_searches(searches, engine.EngineSearch.move) == [one.move() for one in plain]


@pytest.mark.parametrize(
    "game", ["kuhn_poker", "goofspiel(num_cards=4)", "liars_dice", "openspiel:cliff_walking(horizon=20)"]
)
def test_search_by_name_matches_search_by_number(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSpiel's games are searched by number; by word, as any other game is, the moves are the same."""

    def run() -> list[list[Event]]:
        seats = load_game(game).seats
        jobs = [MatchJob(str(i), load_game(game), [make_player("mcts-20")] * seats, i) for i in range(3)]
        return [played.events for played in play(jobs)]

    by_number = run()
    monkeypatch.setattr(engine, "convert_to_engine_worlds", lambda worlds: [])
    assert run() == by_number


@pytest.mark.parametrize(
    ("game", "thought"),
    [
        ("tic_tac_toe", Thought("position", 1, 20)),
        ("goofspiel(num_cards=4)", Thought("views", 10, 20)),
        ("gin_rummy", Thought("resample", 10, 20)),
    ],
)
def test_reply_trace_reports_the_search(game: str, thought: Thought) -> None:
    match = load_game(game).new(1)
    player = MctsPlayer(20)
    [reply] = player.act([asked(match, match.to_move()[0], 0)])
    assert reply.trace == thought
    assert player.counts == {"moves": 1}


def test_forced_move_is_not_searched() -> None:
    player = MctsPlayer(20)
    match = load_game("tic_tac_toe").load([Event(i % 2, m) for i, m in enumerate("b2 a1 a2 c2 b1 b3 c1 a3".split())])
    [reply] = player.act([asked(match, 0, 0)])
    assert (reply.text, reply.trace) == ("c3", Thought(None, 0, 0))
    assert player.counts == {"moves": 1, "forced": 1}
