"""Matches compared with pyspiel, and all match operations."""

from __future__ import annotations

import copy
import os
import random

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, BadRecord, IllegalMove, NoSampler, UnknownName, WrongSeat
from gymposium.games.openspiel.adapter import _GAMES_WITH_SAMPLER, OpenSpielGame, OpenSpielMatch
from gymposium.games.openspiel.quiet import suppress_warning
from gymposium.games.protocol import CHANCE, Event, Match, find_seat_result
from gymposium.plugins.host import host
from gymposium.plugins.names import format_name, parse_name
from gymposium.plugins.specs import GameSpec
from gymposium_testing.golden import list_golden_games

OTHERS = [
    "openspiel:hex(board_size=4)",
    "openspiel:liars_dice",
    "openspiel:blackjack",
    "openspiel:gin_rummy",
    "openspiel:pig(winscore=30)",
    "openspiel:matrix_rps",
    "openspiel:oshi_zumo(coins=8,size=2)",
    "openspiel:kuhn_poker(players=3)",
    "openspiel:goofspiel(imp_info=true,num_cards=4,players=3)",
    "openspiel:2048",
    "openspiel:morpion_solitaire",
]
RESAMPLE = sorted(_GAMES_WITH_SAMPLER - {"bridge"})  # bridge does too, but a match of it takes a second
UNSOUND = ["gin_rummy", "euchre", "hearts"]  # their engine's sampler shows what is hidden
BUILT_IN = [game.name for game in list_golden_games() if isinstance(game, OpenSpielGame)]
BOUND_UNSURE = {
    "universal_poker"
}  # with three or more; the engine's tensor of the whole hand has room for so many moves
DRAWN_LATE = {"solitaire"}  # the engine draws a card when it is turned up: until then there is nothing to hide
games = st.sampled_from([*BUILT_IN, *OTHERS])
seeds = st.integers(0, 2**31)


def find_engine(game: object) -> pyspiel.Game:
    assert isinstance(game, OpenSpielGame)
    return game.engine


def get_state(match: Match) -> pyspiel.State:
    assert isinstance(match, OpenSpielMatch)
    return match.state


def random_moves(match: Match, rng: random.Random) -> dict[int, str]:
    return {seat: rng.choice(match.legal_moves(seat) or []) for seat in match.to_move()}


def play_out(match: Match, rng: random.Random, decisions: int = 10**6) -> Match:
    for _ in range(decisions):
        if not match.to_move():
            break
        match.apply(random_moves(match, rng))
    return match


@pytest.mark.parametrize("spec", host().games.values(), ids=lambda spec: spec.name)
def test_loading_a_game_prints_nothing(spec: GameSpec, capfd: pytest.CaptureFixture[str]) -> None:
    for example in spec.examples:
        load_game(spec.name, **example).new(0)
    assert capfd.readouterr() == ("", "")


def lowest_free_descriptor() -> int:
    found = os.dup(2)
    os.close(found)
    return found


def test_only_the_known_issues_warning_is_suppressed(capfd: pytest.CaptureFixture[str]) -> None:
    free = lowest_free_descriptor()
    with suppress_warning():
        os.write(2, b"before\n")
        pyspiel.load_game("quoridor")
        os.write(2, b"after\n")
    assert capfd.readouterr() == ("", "before\nafter\n")
    assert lowest_free_descriptor() == free
    pyspiel.load_game("quoridor")
    assert "known issues" in capfd.readouterr().err


def looks(match: Match) -> list[object]:
    """Return everything that a match shows."""
    seats = range(match.game.seats)
    return [
        list(match.events),
        match.to_move(),
        match.returns(),
        [(match.observe(s), match.observe(s, "compact"), match.view(s)) for s in seats],
        [(match.legal_moves(s), match.legal_actions(s)) for s in seats],
    ]


@given(games, seeds)
@settings(max_examples=80)
def test_matches_run_in_step_with_the_engine(name: str, seed: int) -> None:
    game = load_game(name)
    rng, match, state = random.Random(seed), game.new(seed), find_engine(game).new_initial_state()
    done, decisions = 0, 0
    while True:
        for event in match.events[done:]:  # what chance did since
            assert event.seat == CHANCE
            [action] = [a for a, _ in state.chance_outcomes() if game.outcome(state, a) == event.move]  # type: ignore[attr-defined]
            state.apply_action(action)
        assert match.returns() == tuple(state.returns())
        low, high = game.utility_range
        if state.is_terminal():
            break
        seats = match.to_move()
        if state.is_simultaneous_node():
            assert seats == tuple(s for s in range(game.seats) if state.legal_actions(s))
        else:
            assert seats == (state.current_player(),)
        joint, moves = [pyspiel.INVALID_ACTION] * game.seats, {}
        for seat in seats:
            legal = match.legal_moves(seat)
            assert legal is not None
            assert match.legal_actions(seat) == state.legal_actions(seat)
            assert len(set(legal)) == len(legal) == len(state.legal_actions(seat))
            for move in legal:
                assert game.move_pattern is not None
                assert game.move_pattern.fullmatch(move), move
                assert move == move.strip()
            index = rng.randrange(len(legal))
            joint[seat], moves[seat] = state.legal_actions(seat)[index], legal[index]
        done = len(match.events) + len(seats)
        match.apply(moves)
        if state.is_simultaneous_node():
            state.apply_actions(joint)
        else:
            state.apply_action(joint[seats[0]])
        decisions += len(seats)
        assert match.events[done - len(seats) : done] == [Event(seat, moves[seat]) for seat in seats]
    assert match.to_move() == ()
    assert decisions <= game.max_decisions
    if name in BUILT_IN:
        assert all(low <= value <= high for value in match.returns())
        if game.spec.utility == "zero_sum":
            assert sum(match.returns()) == 0
    assert match.game.load(match.events).events == match.events
    assert looks(match.game.load(match.events)) == looks(match)


@pytest.mark.parametrize("name", BUILT_IN)
def test_spec_agrees_with_the_engine(name: str) -> None:
    game, kind = load_game(name), find_engine(load_game(name)).get_type()
    assert game.params.get("players", game.spec.seats) == game.seats == find_engine(game).num_players()
    open_to_all = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
    assert (game.spec.information == "perfect") == (open_to_all or game.spec.name in DRAWN_LATE)
    assert (game.spec.dynamics == "simultaneous") == (kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS)
    assert (game.spec.utility == "zero_sum") == (kind.utility == pyspiel.GameType.Utility.ZERO_SUM)
    if kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC:
        assert game.spec.chance
    assert load_game(game.name) is game
    assert game.name == load_game(*[game.spec.name], **game.params).name


THEIR_TENSORS = [
    game.name
    for game in list_golden_games()
    if isinstance(game, OpenSpielGame)
    and type(game).make_tensor is OpenSpielGame.make_tensor
    and game.tensor_shape is not None
]


@pytest.mark.parametrize("name", THEIR_TENSORS)
def test_tensors_match_the_engine(name: str) -> None:
    match = play_out(load_game(name).new(4), random.Random(4), 2)
    state, kind = get_state(match), find_engine(match.game).get_type()
    for seat in range(match.game.seats):
        tensor = match.tensor(seat)
        hides = match.game.spec.information == "imperfect" and kind.provides_information_state_tensor
        whole = hides and not (match.game.seats > 2 and match.game.spec.name in BOUND_UNSURE)
        theirs = state.information_state_tensor(seat) if whole else state.observation_tensor(seat)
        assert tensor.shape == match.game.tensor_shape
        assert tensor.dtype == np.float32
        assert tensor.ravel().tolist() == pytest.approx(theirs)


def test_plain_rules_do_not_say_who_begins() -> None:
    chess = load_game("openspiel:chess")
    assert chess.rules(0) == "Chess. You are player 0 of 2 (players are numbered from 0).\n"
    assert chess.new(0).to_move() == (1,)  # white is the engine's player 1


def test_unknown_game_error_names_openspiels_game() -> None:
    with pytest.raises(UnknownName, match=r"Unknown game 'hive'. OpenSpiel has one: write 'openspiel:hive'"):
        load_game("hive")
    with pytest.raises(UnknownName, match=r"write 'openspiel:twixt'"):
        load_game("twixt(board_size=5)")
    with pytest.raises(UnknownName) as caught:
        load_game("no_such_game")
    assert "OpenSpiel" not in str(caught.value)


def test_goofspiel_bids_reach_the_engine_together() -> None:
    match = load_game("goofspiel(num_cards=3,points_order=descending)").new(0)
    match.apply({1: "bid 2", 0: "bid 3"})
    assert match.events == [Event(0, "bid 3"), Event(1, "bid 2")]
    state = pyspiel.load_game("goofspiel(imp_info=true,num_cards=3,players=2,points_order=descending)")
    side = state.new_initial_state()
    side.apply_actions([2, 1])
    assert str(get_state(match)) == str(side)
    match.apply({0: "bid 1", 1: "bid 3"})
    assert match.to_move() == ()
    assert match.returns() == (
        1.0,
        -1.0,
    )  # 3 and 1 points (the last cards, 2 and 1, are bid by themselves) to 2


# -- seeds


@given(games, seeds)
@settings(max_examples=40)
def test_equal_seeds_and_moves_give_equal_matches(name: str, seed: int) -> None:
    game = load_game(name)
    before = (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002 (nobody may touch it)
    alone = play_out(game.new(seed), random.Random(seed))
    first, second = game.new(seed), game.new(seed + 1)
    rng, other = random.Random(seed), random.Random(seed + 1)
    while first.to_move():  # another match drawn in between shifts nothing
        first.apply(random_moves(first, rng))
        if second.to_move():
            second.apply(random_moves(second, other))
    assert looks(first) == looks(alone)
    assert before == (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002


def test_different_seeds_deal_differently() -> None:
    for name in ("kuhn_poker", "leduc_poker", "goofspiel"):
        deals = {tuple(load_game(name).new(seed).events) for seed in range(60)}
        assert len(deals) >= 6


def test_chance_is_fair() -> None:
    """Draws all 6 deals of Kuhn poker about 100 times each, within the 1 in 10,000 bound for 5 degrees of freedom."""
    counts: dict[object, int] = {}
    for seed in range(600):
        deal = tuple(load_game("kuhn_poker").new(seed).events)
        counts[deal] = counts.get(deal, 0) + 1
    assert len(counts) == 6
    assert sum((n - 100) ** 2 / 100 for n in counts.values()) < 25.7


# -- load


@given(games, seeds, st.integers(0, 12))
@settings(max_examples=60)
def test_loaded_match_continues_like_the_original(name: str, seed: int, decisions: int) -> None:
    game = load_game(name)
    match = play_out(game.new(seed), random.Random(seed), decisions)
    loaded = game.load(match.events, seed)
    assert looks(loaded) == looks(match)
    ends = [play_out(one, random.Random(1)) for one in (match, loaded)]
    assert looks(ends[0]) == looks(ends[1])


@given(st.sampled_from(BUILT_IN), seeds, st.data())
@settings(max_examples=80)
def test_invalid_events_are_refused(name: str, seed: int, data: st.DataObject) -> None:
    game = load_game(name)
    events = list(play_out(game.new(seed), random.Random(seed)).events)
    number = data.draw(st.integers(0, len(events) - 1))
    event = events[number]
    wrong = {
        "move": [*events[:number], Event(event.seat, "no such thing"), *events[number + 1 :]],
        "seat": [*events[:number], Event(7, event.move), *events[number + 1 :]],
        "no seat": [*events[:number], Event(-5, event.move), *events[number + 1 :]],
        "twice": [*events[: number + 1], event, *events[number + 1 :]],
        "missing": [*events[:number], *events[number + 1 :]],
        "more": [*events, Event(0, "pass")],
    }
    kind = data.draw(st.sampled_from(sorted(wrong)))
    if kind in ("missing", "twice") and (number == len(events) - 1 or name.startswith(("tic", "connect"))):
        return  # what is left may be a legal, shorter match
    if kind == "missing" and name == "blackjack":
        return  # the dealer may come to an end with a card less
    if kind in ("missing", "twice") and event.seat == CHANCE:
        pass
    elif kind in ("missing", "twice") and game.spec.dynamics == "sequential":
        return  # a pass more or less may make another legal hand
    with pytest.raises(BadRecord):
        game.load(wrong[kind])


def test_joint_moves_replay_in_recorded_order() -> None:
    game = load_game("goofspiel(num_cards=4,points_order=descending)")
    for events, message in [
        ([(0, "bid 1"), (0, "bid 2"), (1, "bid 1")], "Event 1 .* belongs to seat 0, but it is seat 1's turn"),
        ([(1, "bid 1"), (0, "bid 2")], "Event 0 .* belongs to seat 1, but it is seat 0's turn"),
        ([(0, "bid 1")], "middle of a joint move"),
        ([(CHANCE, "Deal 1")], "not chance's turn"),
    ]:
        with pytest.raises(BadRecord, match=message):
            game.load([Event(*event) for event in events])


def test_record_ending_before_chance_needs_its_seed() -> None:
    game = load_game("leduc_poker")
    events = game.new(5).events
    with pytest.raises(BadRecord, match="Pass the match's seed"):
        game.load(events[:1])
    assert game.load(events[:1], 5).events == events
    with pytest.raises(BadRecord, match="belongs to seat 0, but it is chance's turn"):
        game.load([Event(0, "call")])
    with pytest.raises(BadRecord, match="not an outcome of chance"):
        game.load([Event(CHANCE, "Deal:9")])
    over = play_out(game.new(5), random.Random(5)).events
    with pytest.raises(BadRecord, match="after the end of the match"):
        game.load([*over, Event(0, "call")])


# -- fork and resample


@given(games, seeds, st.integers(0, 6))
@settings(max_examples=40)
def test_fork_starts_equal_and_continues_independently(name: str, seed: int, decisions: int) -> None:
    match = play_out(load_game(name).new(seed), random.Random(seed), decisions)
    before = looks(match)
    fork = match.fork(random.Random(1))
    assert looks(fork) == before
    assert fork.seed is None
    play_out(fork, random.Random(2))
    assert looks(match) == before
    twin = play_out(match.fork(random.Random(1)), random.Random(2))
    assert looks(twin) == looks(fork)


@pytest.mark.parametrize("name", ["leduc_poker", "goofspiel"])
def test_forks_draw_fresh_chance(name: str) -> None:
    """Forks differ among themselves, so they do not reveal the chance of the true match."""
    match = load_game(name).new(3)
    later = set()
    for seed in range(20):
        fork = match.fork(random.Random(seed))
        while fork.to_move() and len([e for e in fork.events if e.seat == CHANCE]) <= len(
            [e for e in match.events if e.seat == CHANCE]
        ):
            fork.apply({seat: (fork.legal_moves(seat) or [])[0] for seat in fork.to_move()})
        later.add(fork.events[-1])
    assert len(later) >= 3


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", *(f"openspiel:{name}" for name in RESAMPLE)])
def test_resampled_worlds_match_the_seats_view_and_replay(name: str) -> None:
    game, different = load_game(name), 0
    for seed in range(16):
        match = play_out(game.new(seed), random.Random(seed), seed % 5)
        for seat in match.to_move():
            true = copy.copy(match.events)
            for draw in range(3):
                world = match.resample(seat, random.Random(draw))
                assert world.view(seat) == match.view(seat)
                assert world.observe(seat) == match.observe(seat)
                assert world.to_move() == match.to_move()
                assert [e.seat for e in world.events] == [e.seat for e in true]
                assert [e for e in world.events if e.seat == seat] == [e for e in true if e.seat == seat]
                assert looks(game.load(world.events)) == looks(world)
                assert world.seed is None
                different += world.events != true
                play_out(world, random.Random(0))
            assert match.events == true
    assert different >= 5


@pytest.mark.slow
def test_hidden_cards_are_resampled_uniformly() -> None:
    """If a seat holds the queen, the other seat has the jack as often as the king."""
    game = load_game("kuhn_poker")
    match = game.load([Event(CHANCE, "Deal:1"), Event(CHANCE, "Deal:0")])
    rng = random.Random(0)
    others = [match.resample(0, rng).events[1].move for _ in range(1000)]
    assert set(others) == {"Deal:0", "Deal:2"}
    assert 430 < others.count("Deal:0") < 570


def test_three_player_engine_poker_has_no_sampler() -> None:
    """The engine's sampler would end the process."""
    three = (
        "numPlayers=3,stack=12 12 12,blind=1 1 1,firstPlayer=1 1,numRounds=2,numSuits=4,numRanks=6,numHoleCards=1,"
        "numBoardCards=0 1"
    )
    with pytest.raises(NoSampler):
        load_game(f"openspiel:universal_poker({three})").new(1).resample(0, random.Random(1))


@pytest.mark.parametrize(
    "name", ["goofspiel", "openspiel:liars_dice", "openspiel:phantom_ttt", *[f"openspiel:{n}" for n in UNSOUND]]
)
def test_games_without_a_sampler_raise(name: str) -> None:
    with pytest.raises(NoSampler, match=r"ask\.sampler\.worlds\(\) samples worlds"):
        load_game(name).new(0).resample(0, random.Random(0))


# -- illegal moves


@given(games, seeds, st.integers(0, 5), st.text(max_size=20))
@settings(max_examples=60)
def test_refused_moves_leave_the_match_unchanged(name: str, seed: int, decisions: int, text: str) -> None:
    match = play_out(load_game(name).new(seed), random.Random(seed), decisions)
    seats, before = match.to_move(), looks(match)
    if not seats:
        with pytest.raises(WrongSeat, match="the match is over"):
            match.apply({0: text})
        assert looks(match) == before
        return
    good = random_moves(match, random.Random(0))
    for seat in seats:
        if text not in (match.legal_moves(seat) or []):
            with pytest.raises(IllegalMove) as refused:
                match.apply({**good, seat: text})
            assert refused.value.seat == seat
            assert refused.value.legal_moves == match.legal_moves(seat)
    for wrong in ({}, {**good, 99: "x"}, {s + 1: m for s, m in good.items()}):
        with pytest.raises((WrongSeat, IllegalMove)):
            match.apply(wrong)
    assert looks(match) == before
    match.apply(good)


@pytest.mark.parametrize("name", ["backgammon", "breakthrough", "gin_rummy", "openspiel:phantom_go"])
def test_previously_listed_moves_do_not_stay_legal(name: str) -> None:
    """In games that name moves by position, moves that were legal before or for another seat, or that a caller writes
    into the list, are illegal. Listing moves does not change what is played."""
    match, unseen = load_game(name).new(3), load_game(name).new(3)
    past = {"nonsense"}
    rng = random.Random(3)
    for _ in range(12):
        [seat] = match.to_move()
        legal = unseen.fork(rng).legal_moves(seat) or []
        for move in sorted(past - set(legal)):
            with pytest.raises(IllegalMove):
                match.fork(rng).apply({seat: move})
            with pytest.raises(IllegalMove):  # the first time it has listed none here
                match.apply({seat: move})
        assert match.legal_moves(1 - seat) == []
        moves = match.legal_moves(seat) or []
        assert moves == legal
        past |= set(moves)
        moves[0] = "nonsense"
        with pytest.raises(IllegalMove):
            match.apply({seat: "nonsense"})
        move = rng.choice(legal)
        match.apply({seat: move})
        unseen.apply({seat: move})
    assert unseen.events == match.events


# -- names


@given(
    st.from_regex(r"[a-z0-9_]{1,12}", fullmatch=True),
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
        st.from_regex(r"[A-Za-z0-9_.+-]{1,8}", fullmatch=True),
        max_size=4,
    ),
)
def test_names_round_trip(name: str, params: dict[str, str]) -> None:
    assert parse_name(format_name(name, params)) == (name, params)
    outer = {"inner": format_name(name, params), "a": "1"}
    assert parse_name(format_name("wrapped", outer)) == ("wrapped", outer)


@pytest.mark.parametrize(
    "text", ["", "a b", "a(", "a)", "a(x)", "a(x=)", "a(=1)", "a(x=1,x=2)", "a(x=1)b", "a(x=b()", "a(x=1))", "a(x=)(1)"]
)
def test_invalid_names_are_refused(text: str) -> None:
    with pytest.raises(BadParameter):
        parse_name(text)


def test_unknown_games_suggest_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'goofspiel'"):
        load_game("gofspiel")
    with pytest.raises(UnknownName, match="liars_dice"):
        load_game("openspiel:liar_dice")
    with pytest.raises(BadParameter, match="num_card"):
        load_game("goofspiel(num_card=4)")
    with pytest.raises(BadParameter, match="given twice"):
        load_game("goofspiel(num_cards=4)", num_cards=5)
    with pytest.raises(BadParameter, match="OpenSpiel rejected"):
        load_game("openspiel:hex(bored_size=4)")


@pytest.mark.parametrize("name", ["mfg_crowd_modelling", "crossword", "nfg_game", "efg_game"])
def test_unplayable_engine_games_say_why(name: str) -> None:
    with pytest.raises(BadParameter, match="OpenSpiel"):
        load_game(f"openspiel:{name}")


def test_wrapped_game_takes_the_inner_games_properties() -> None:
    game = load_game("openspiel:turn_based_simultaneous_game(game=goofspiel(imp_info=true,num_cards=3,players=2))")
    assert (game.spec.information, game.spec.dynamics, game.spec.utility) == ("imperfect", "sequential", "zero_sum")
    inner = "goofspiel(num_cards=3,egocentric=true,imp_info=true)"
    assert load_game(f"openspiel:turn_based_simultaneous_game(game={inner})").num_actions == 3
    assert load_game("openspiel:hex", board_size=4).name == "openspiel:hex(board_size=4)"


def test_results_compare_with_the_best_other_seat() -> None:
    assert [find_seat_result((1.0, -1.0), s) for s in (0, 1)] == ["win", "loss"]
    assert [find_seat_result((0.0, 0.0), s) for s in (0, 1)] == ["draw", "draw"]
    assert [find_seat_result((2.0, 2.0, -4.0), s) for s in (0, 1, 2)] == ["draw", "draw", "loss"]
    assert find_seat_result((512.0,), 0) == "score"
