"""Every disguise is the plain game in other words: the same tree, without the game's well-known terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import gymnasium
import pytest

from gymposium import load_game
from gymposium.analysis.exact import compute_optima_against_random
from gymposium.analysis.exact.equilibrium import compute_average_policy
from gymposium.errors import BadParameter, GymposiumError
from gymposium.games.openspiel.lookup import load_by_engine_name
from gymposium.games.protocol import Game, Match
from gymposium.match import MatchJob, play
from gymposium.players.grammar import make_player
from gymposium.plugins.host import Host, host
from gymposium.records import RecordWriter, verify_file
from gymposium.util.streams import stream
from gymposium_disguises import DISGUISES
from gymposium_testing.in_step import GameComparison

POSITIONS = 500
FAME = {
    "amazons": "amazon queen chess arrow",
    "bargaining": "bargaining book hat basketball",
    "blackjack": "blackjack card ace dealer hit stand jack queen king",
    "breakthrough": "breakthrough piece square row column",
    "checkers": "checkers draughts king man men square jump black white",
    "clobber": "clobber piece square",
    "connect_four": "connect disc column row",
    "dark_hex": "hex stone cell row column",
    "dots_and_boxes": "dot box boxes",
    "go": "go stone point komi ko liberty liberties black white pass",
    "gomoku": "gomoku stone point row column black white",
    "goofspiel": "goofspiel card bid prize hand",
    "havannah": "havannah stone cell bridge fork ring",
    "hex": "hex stone cell row column",
    "kuhn_poker": "kuhn poker card bet pass chip pot jack queen king",
    "leduc_poker": "leduc poker card raise call fold chip pot jack queen king pair",
    "liars_dice": "liar dice die bid face",
    "lines_of_action": "lines action piece square row column",
    "mancala": "mancala kalah seed house store north south",
    "nine_mens_morris": "morris mill man men point fly",
    "othello": "othello reversi disc square flip pass",
    "oware": "oware seed house store north south slam",
    "phantom_ttt": "tic tac toe square mark row column board",
    "pig": "pig die roll stop dice",
    "tic_tac_toe": "tic tac toe square mark row column board",
    "ultimate_tic_tac_toe": "tic tac toe square mark row column board",
    "y": "y stone cell row column",
}
"""Words of the plain game that no text of its disguise has, also with an s behind."""
every_game = pytest.mark.parametrize("name", sorted(DISGUISES))


def examples(name: str) -> Iterator[dict[str, object]]:
    """The parameters of each example of a game, without the disguise."""
    found = [{**example, "disguise": 0} for example in host().game(name).examples]
    yield from (example for number, example in enumerate(found) if example not in found[:number])


@every_game
def test_plain_and_disguised_matches_correspond(name: str) -> None:
    for seed in (7, 8):
        GameComparison(load_game(name), load_game(name, disguise=seed)).play(POSITIONS // 2)
    for example in examples(name):
        GameComparison(load_game(name, **example), load_game(name, **{**example, "disguise": 9})).play(60)


def texts(game: Game, seed: int) -> Iterator[str]:
    """Everything that players read in the first decisions of a random match."""
    match, rng = game.new(seed), stream(seed, "texts")
    for _ in range(12):
        for seat in range(game.seats):
            for style in ("full", "compact"):
                yield f"{game.rules(seat, style)}{match.observe(seat, style).text} {' '.join(match.legal_moves(seat))}"
        if not match.to_move():
            return
        match.apply({seat: rng.choice(match.legal_moves(seat)) for seat in match.to_move()})


@every_game
def test_disguise_texts_contain_no_known_terms(name: str) -> None:
    fame = {word + end for word in FAME[name].split() for end in ("", "s")}
    for seed in range(1, 13):
        told = " ".join(texts(load_game(name, disguise=seed), seed)).lower()
        assert not fame & {*re.findall(r"[a-z]+", told)}, seed
        assert not re.search(r"\b[a-t]\d\d?\b", told), f"{seed}: a square of a chess board"


@every_game
def test_words_depend_only_on_the_seed(name: str) -> None:
    one, again, other = (load_game(name, disguise=seed) for seed in (5, "5", 6))
    assert one is again
    assert one.rules(0) != other.rules(0)
    assert f"disguise={5}" in one.name
    assert load_game(name, disguise=0) is load_game(name)
    assert load_game(name).name == name


def test_disguises_have_different_moves() -> None:
    for name in DISGUISES:
        moves = {tuple(sorted(load_game(name, disguise=seed).new(0).legal_moves(0))) for seed in range(1, 9)}
        assert len(moves) > 1, name


def numbers(match: Match) -> dict[str, int]:
    """The number by which each cell of tic-tac-toe is called, by its plain name."""
    plain = load_game("tic_tac_toe").new(0).legal_moves(0)
    return dict(zip(plain, map(int, match.legal_moves(0)), strict=True))


@pytest.mark.parametrize("seed", range(1, 21))
def test_three_numbers_have_the_sum_if_their_cells_are_in_a_row(seed: int) -> None:
    game = load_game("tic_tac_toe", disguise=seed)
    found = numbers(game.new(0))
    low, high, total = map(int, re.findall(r"from (\d+) to (\d+) .* sum is (\d+)", game.rules(0))[0])
    assert sorted(found.values()) == [*range(low, high + 1)]
    rows = [{c + r for c in "abc"} for r in "123"] + [{c + r for r in "123"} for c in "abc"]
    rows += [{"a1", "b2", "c3"}, {"a3", "b2", "c1"}]
    assert [set(three) for three in combinations(found, 3) if sum(found[cell] for cell in three) == total] == [
        set(three) for three in combinations(found, 3) if set(three) in rows
    ]


def test_half_of_the_seeds_use_numbers_up_to_nine() -> None:
    rules = [load_game("tic_tac_toe", disguise=seed).rules(0) for seed in range(1, 41)]
    assert 10 <= sum("a number from 1 to 9" in told and "sum is 15" in told for told in rules) <= 30


@pytest.mark.slow
def test_optimum_matches_the_plain_game() -> None:
    for name in ("tic_tac_toe", "hex(board_size=3)", "dots_and_boxes(num_rows=1,num_cols=2)"):
        assert compute_optima_against_random(load_game(name, disguise=3)) == compute_optima_against_random(
            load_game(name)
        )
    for name in ("kuhn_poker", "goofspiel(num_cards=3)"):
        assert compute_average_policy(load_game(name, disguise=3), 5) == compute_average_policy(load_game(name), 5)


def test_search_chooses_the_same_actions() -> None:
    played = []
    for name in ("connect_four", "connect_four(disguise=4)"):
        game = load_game(name)
        player = make_player("mcts-20")
        [done] = play([MatchJob("one", game, [player, player], 1)])
        match, actions = game.new(1), []
        for event in done.events:
            moves = match.legal_moves(event.seat)
            actions.append(match.legal_actions(event.seat)[moves.index(event.move)])
            match.apply({event.seat: event.move})
        played.append(actions)
    assert played[0] == played[1]


def test_records_and_environments_keep_the_disguise(tmp_path: Path) -> None:
    player = make_player("random")
    with RecordWriter(tmp_path / "matches.jsonl") as writer:
        for name in ("kuhn_poker(disguise=11)", "bargaining(disguise=11,prob_end=0.1)"):
            [played] = play([MatchJob(name, load_game(name), [player, player], 1)])
            assert writer.write(played).game == name
    found = verify_file(tmp_path / "matches.jsonl")
    assert (found.matches, found.problems) == (2, [])
    env = gymnasium.make("TextTicTacToe-v0", disguise=7)
    observation, info = env.reset(seed=1)
    assert re.search(r"take turns to pick a number", str(observation) + str(info))


def test_disguised_match_has_no_picture() -> None:
    assert load_game("tic_tac_toe").new(0).draw_picture(0)
    assert load_game("tic_tac_toe", disguise=1).new(0).draw_picture(0) is None


def test_players_of_plain_words_refuse_disguises() -> None:
    for name, player in (("pig", "hold-20"), ("blackjack", "stand-17"), ("goofspiel", "match-prize")):
        game = load_game(name, disguise=2)
        players = [make_player(player)] * game.seats
        with pytest.raises(GymposiumError, match=r"plays only"):
            list(play([MatchJob("one", game, players, 1)]))


def test_engine_games_have_no_disguise() -> None:
    with pytest.raises(GymposiumError, match="disguise"):
        load_by_engine_name("hex(disguise=3)")


def test_invalid_disguises_are_refused() -> None:
    with pytest.raises(BadParameter, match="disguise=-1: must be from 0"):
        load_game("hex(disguise=-1)")
    with pytest.raises(BadParameter, match="disguise"):
        load_game("chess(disguise=1)")


def test_disguised_oware_names_sheds_that_repeat_a_position() -> None:
    small = {"num_houses_per_player": 2, "num_seeds_per_house": 1}
    plain, other = load_game("oware", **small), load_game("oware", **small, disguise=3)
    found = 0
    for seed in range(30):
        one, two, rng = plain.new(0), other.new(0), stream(seed, "oware")
        while seats := one.to_move():
            (seat,) = seats
            told = [re.findall(r"end the game: (.*)\.", match.observe(seat).text) for match in (one, two)]
            names = dict(zip(one.legal_moves(seat), two.legal_moves(seat), strict=True))
            assert [[names[move] for move in moves.split()] for moves in told[0]] == [m.split() for m in told[1]]
            found += len(told[0])
            number = rng.randrange(len(names))
            one.apply({seat: one.legal_moves(seat)[number]})
            two.apply({seat: two.legal_moves(seat)[number]})
    assert found


def test_disguised_oware_ends_at_the_same_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("gymposium.games.sowing.oware", "gymposium_disguises.sowing"):
        monkeypatch.setattr(f"{module}.LIMIT", 9)
    game = host().make_game("oware", {"disguise": 3})  # not `load_game`, which would keep the changed limit for others
    GameComparison(host().make_game("oware", {}), game).play(100)
    match = game.new(0)
    while match.to_move():
        match.apply({seat: match.legal_moves(seat)[0] for seat in match.to_move()})
    assert len(match.events) == 9
    assert match.observe(0).text.endswith("The match is over.\n")
    assert match.observe(0, "compact").text.endswith("legal: none\n")


def test_docs_list_every_game_with_or_without_disguise() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "disguise-a-game.md").read_text(encoding="utf-8")
    listed, _, without = page.partition("## Which games have one\n")[2].partition("These have none:\n")
    assert {*re.findall(r"`(\w+)`", listed)} == {*DISGUISES}
    others = {name for name in Host(autoload=False).games if name not in DISGUISES} | {"2048", "trace"}
    assert {*re.findall(r"`(\w+)`", without.partition("\nTasks")[0])} == others
