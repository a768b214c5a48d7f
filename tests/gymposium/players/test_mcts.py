"""Search: strong, deterministic, and blind to what its seat may not see."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from gymposium import load_game, make_player
from gymposium.driver import MatchJob, play
from gymposium.errors import NoSampler
from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.players.mcts import MctsPlayer
from gymposium.players.protocol import Ask, Sitting
from gymposium.scores import score

SEARCHED = ["tic_tac_toe", "connect_four(rows=5,columns=4,x_in_row=3)", "kuhn_poker", "leduc_poker"]


def asked(match: Match, seat: int, seed: int) -> Ask:
    return Ask(Sitting(match, "m", seed), seat, 0)


@pytest.mark.parametrize("game", SEARCHED)
def test_equal_seeds_search_equally(game: str) -> None:
    def run() -> list[list[Event]]:
        players = [make_player("mcts-20"), make_player("random")]
        return [p.events for p in play(MatchJob(str(i), load_game(game), players, i) for i in range(8))]

    assert run() == run()


@pytest.mark.parametrize(
    ("game", "n", "least"),
    [("tic_tac_toe", 24, 0.5), ("connect_four", 10, 0.8), ("kuhn_poker", 300, 0), ("leduc_poker", 60, 0)],
)
def test_it_beats_random(game: str, n: int, least: float) -> None:
    """The whole interval of the mean return over both seats lies above a mark that is easily reached."""
    mcts, other = make_player("mcts-100"), make_player("random")
    jobs = [MatchJob(str(i), load_game(game), [mcts, other] if i % 2 else [other, mcts], i // 2) for i in range(2 * n)]
    total = score((p, 1 - int(p.job.id) % 2) for p in play(jobs))
    assert total.mean_return().low > least, total.mean_return()
    assert total.readings["move"] == sum(total.readings.values())


def test_it_takes_a_win_and_stops_a_loss() -> None:
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
def test_in_kuhn_poker_it_does_not_see_the_other_card(card: str, moves: tuple[str, ...]) -> None:
    """The same information state and seed give the same move, whatever the other holds: 40 seeds, so that
    peeking at anything would show (with the queen facing a bet it would fold to the king, call the jack)."""
    seat = len(moves) % 2
    others = [other for other in "JQK" if other != card]
    deals = [(card, other) if seat == 0 else (other, card) for other in others]
    player = MctsPlayer(30)
    chosen = [[player.act([asked(kuhn(deal, moves), seat, s)])[0].text for s in range(40)] for deal in deals]
    assert chosen[0] == chosen[1]


def test_with_the_queen_it_is_of_two_minds() -> None:
    """So the test above can fail: a search that knew the card would always know what to do."""
    player = MctsPlayer(30)
    moves = Counter(player.act([asked(kuhn(("K", "Q"), ("bet",)), 1, s)])[0].text for s in range(40))
    assert set(moves) == {"pass", "bet"}


def test_in_leduc_poker_it_does_not_see_the_other_card() -> None:
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


def test_it_cannot_foresee_the_public_card() -> None:
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
        ("goofspiel", "hides something"),
        ("openspiel:liars_dice", "hides something"),
        ("openspiel:matrix_rps", "hides something|simultaneous"),
        ("openspiel:2048", "rewards come during the game"),
    ],
)
def test_what_it_cannot_search_fairly_it_refuses(game: str, why: str) -> None:
    match = load_game(game).new(0)
    with pytest.raises(NoSampler, match=why):
        MctsPlayer(5).act([asked(match, match.to_move()[0], 0)])


@pytest.mark.parametrize("game", ["openspiel:hex(board_size=3)", "openspiel:pig(winscore=10)", "openspiel:blackjack"])
def test_it_plays_other_games_of_the_engine(game: str) -> None:
    seats = load_game(game).seats
    [played] = play([MatchJob("m", load_game(game), [make_player("mcts-10")] * seats, 0)])
    assert played.forfeit is None


@pytest.mark.parametrize("game", SEARCHED)
def test_any_player_in_any_seat(game: str) -> None:
    for pair in itertools.product(("random", "mcts-5"), repeat=2):
        jobs = [MatchJob(str(i), load_game(game), [make_player(name) for name in pair], i) for i in range(3)]
        assert all(p.forfeit is None and sum(p.returns) == 0 for p in play(jobs))
