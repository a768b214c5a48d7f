"""affinetes' task ids: 22 games in order, playable variants, and no wrap-around."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import BadOption, BadParameter, UnknownName
from gymposium.match import MatchJob, play
from gymposium.players.grammar import make_player
from gymposium_affinetes import Task, decode_task, encode_game
from gymposium_affinetes.tasks import CONFIGS, FAMILIES

ORDER = (
    "goofspiel liars_dice leduc_poker gin_rummy othello backgammon hex clobber hearts euchre dots_and_boxes go chess "
    "checkers quoridor blackjack phantom_ttt 2048 solitaire bridge amazons oware"
).split()
VARIANTS = [(i, config) for i, family in enumerate(FAMILIES) for config in range(len(family.variants))]


def test_order_matches_affinetes() -> None:
    assert [family.name for family in FAMILIES] == ORDER


@pytest.mark.parametrize(
    ("task_id", "game"),
    [
        (0, "goofspiel(imp_info=False,num_cards=8)"),
        (4, "goofspiel(imp_info=False,num_cards=16)"),
        (100_000_000, "liars_dice(numdice=5)"),
        (200_000_007, "leduc_poker"),
        (300_000_005, "gin_rummy(hand_size=8,knock_card=8)"),
        (399_999_999, "gin_rummy(hand_size=7,knock_card=10)"),
        (600_000_002, "hex(board_size=9)"),
        (700_000_001, "clobber(columns=6,rows=6)"),
        (800_000_003, "hearts(avoid_all_tricks_bonus=False,jd_bonus=True,pass_cards=True)"),
        (900_000_002, "euchre(allow_lone_defender=False,stick_the_dealer=True)"),
        (1_100_000_001, "go(board_size=7,komi=7.5)"),
        (1_400_000_002, "quoridor(board_size=9,wall_count=8)"),
        (1_600_000_001, "phantom_ttt(obstype=reveal-numturns)"),
        (1_700_000_000, "2048"),
        (
            1_900_000_001,
            "bridge(dealer_vul=True,non_dealer_vul=False,use_double_dummy_result=True)",
        ),
        (2_000_000_000, "amazons(board_size=6)"),
        (2_100_000_001, "oware(num_seeds_per_house=3)"),
    ],
)
def test_ids_decode_to_games(task_id: int, game: str) -> None:
    assert decode_task(task_id).game == game


@given(st.integers(0, len(FAMILIES) * CONFIGS - 1))
def test_ids_round_trip_to_the_smallest_id(task_id: int) -> None:
    task = decode_task(task_id)
    assert task.index * CONFIGS + task.config == task_id
    smallest = encode_game(task.game)
    assert smallest <= task_id
    assert decode_task(smallest) == Task(task.game, task.index, smallest % CONFIGS)
    assert all(decode_task(task.index * CONFIGS + config).game != task.game for config in range(smallest % CONFIGS))


@given(st.integers(max_value=-1) | st.integers(min_value=len(FAMILIES) * CONFIGS))
def test_out_of_range_ids_are_refused(task_id: int) -> None:
    with pytest.raises(BadOption, match="ids go from 0 to 2199999999"):
        decode_task(task_id)


@pytest.mark.parametrize("task_id", [1.0, "1", None, True])
def test_non_integer_ids_are_refused(task_id: object) -> None:
    with pytest.raises(BadOption, match="use an integer"):
        decode_task(task_id)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("game", "task_id"),
    [
        ("hex", 600_000_003),  # 11 by 11 is the default
        ("hex(board_size=7)", 600_000_001),
        ("openspiel:hex(board_size=7)", 600_000_001),
        ("go(komi=7.5,board_size=5)", 1_100_000_000),
        ("gin_rummy(hand_size=9)", 300_000_006),
        ("goofspiel(num_cards=12)", 2),
        ("hearts", 800_000_001),
    ],
)
def test_encode_accepts_any_spelling_of_a_game(game: str, task_id: int) -> None:
    assert encode_game(game) == task_id


def test_games_without_a_task_are_refused() -> None:
    with pytest.raises(UnknownName, match="Did you mean"):
        encode_game("leduc_pokr")
    with pytest.raises(BadOption, match=r"The game's tasks are hex\(board_size=5\), .*hex\(board_size=11\)\."):
        encode_game("hex(board_size=6)")
    with pytest.raises(BadOption, match="is not an affinetes task"):
        encode_game("goofspiel(imp_info=True,num_cards=8)")
    with pytest.raises(BadParameter, match="board_sise"):
        encode_game("hex(board_sise=5)")


@pytest.mark.parametrize(("index", "config"), VARIANTS)
def test_every_variant_can_be_played(index: int, config: int) -> None:
    task = decode_task(index * CONFIGS + config)
    game, random = task.load(), make_player("random")
    (played,) = play([MatchJob("m", game, [random] * game.seats, config)])
    assert len(played.utilities) == game.seats
    least, greatest = task.utility_range
    assert all(least <= utility <= greatest for utility in played.utilities)


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(f, id=f.name, marks=pytest.mark.slow if f.name == "bridge" else ())
        for f in FAMILIES
        if f.simulations
    ],
)
def test_search_plays_the_games_it_supports(family: object) -> None:
    """Few simulations suffice to test that search can play the game."""
    task = decode_task([f is family for f in FAMILIES].index(True) * CONFIGS)
    game = task.load()
    searcher, random = make_player("mcts-2"), make_player("random")
    jobs = [MatchJob("m", game, [searcher, *[random] * (game.seats - 1)], 1)]
    (played,) = play(jobs)
    assert played.ending.seat is None
    counts = searcher.counts  # type: ignore[attr-defined]
    assert counts["no world"] <= counts["moves"] // 10


def test_utility_ranges_match_openspiel() -> None:
    assert decode_task(encode_game("2048")).utility_range == (0.0, 20480.0)
    assert decode_task(encode_game("gin_rummy(hand_size=7)")).utility_range == (-123.0, 123.0)  # with any hand


def test_bids_are_shown_as_in_affinetes() -> None:
    shown = decode_task(0).load().new(1)
    shown.apply({0: "bid 3", 1: "bid 6"})
    assert "Your opponent's hand: 1 2 3 4 5 7 8." in shown.observe(0).text


def test_missing_2048_plugin_suggests_a_fix() -> None:
    code = (
        "from gymposium_affinetes import decode_task\n"
        "from gymposium.errors import GymposiumError\n"
        "try: decode_task(1_700_000_000).load()\n"
        "except GymposiumError as error: print(error)\n"
    )
    env = {"GYMPOSIUM_DISABLE_PLUGINS": "gymposium-2048", "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert "comes from gymposium-2048, which is switched off" in done.stdout
