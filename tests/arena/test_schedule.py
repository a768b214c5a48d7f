"""Schedules: deals and seats of players, and the effect of a new entry."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import make_player
from gymposium.errors import BadOption
from gymposium.match import MatchJob
from gymposium.players.protocol import Player
from gymposium_arena.entries import Entry, make_entry, make_own_entry
from gymposium_arena.schedule import Lineup, make_jobs, make_lineups
from gymposium_arena.slugs import join_slugs, make_slug
from gymposium_arena.suite import Suite, parse_suite

NAMES = ["random", "greedy", "mcts-3", "mcts-5", "mcts-10", "mcts-25"]
GAMES = ["tic_tac_toe", "goofspiel(num_cards=4)", "universal_poker(players=3)", "2048", "coin_game"]
PLAYERS = {name: make_player(name) for name in (*NAMES, "hold-20", "hold-9")}

suites = st.builds(
    lambda seed, groups, most, players, games: parse_suite(
        f'name = "s"\nseed = {seed}\ngroups = {groups}\nlineups = {most}\nplayers = {players}\n'.replace("'", '"')
        + "".join(f'[[games]]\nname = "{game}"\n' for game in games)
    ),
    st.integers(0, 99),
    st.integers(1, 4),
    st.integers(1, 6),
    st.lists(st.sampled_from(NAMES), min_size=2, unique=True),
    st.lists(st.sampled_from(GAMES), min_size=1, unique=True),
)


def make_own_entries(suite: Suite) -> list[Entry]:
    return [make_own_entry(suite, player) for player in suite.players]


def make_cast(lineup: Lineup) -> list[Player]:
    return [PLAYERS[text] for text in lineup.players]


def list_facts(job: MatchJob) -> tuple[object, ...]:
    names = tuple(player.name for player in job.players)
    return job.id, job.game.name, names, job.seed, job.player_seed, str(job.on_illegal), job.opening


def schedule(suite: Suite, entries: list[Entry]) -> dict[str, list[tuple[object, ...]]]:
    return {
        lineup.id: [list_facts(job) for job in make_jobs(lineup, make_cast(lineup))]
        for lineup in make_lineups(suite, entries)
    }


@given(suites)
@settings(max_examples=40)
def test_players_sit_in_every_seat_of_every_deal_once(suite: Suite) -> None:
    for lineup in make_lineups(suite, make_own_entries(suite)):
        seats: dict[int, Counter[tuple[int, str]]] = defaultdict(Counter)
        for job in make_jobs(lineup, make_cast(lineup)):
            seats[job.seed].update(enumerate(player.name for player in job.players))
        assert len(seats) == lineup.game.groups
        for players in seats.values():
            assert players == Counter({(seat, name): 1 for seat in range(job.game.seats) for name in lineup.players})


@given(suites)
@settings(max_examples=20)
def test_schedules_are_deterministic_with_distinct_matches(suite: Suite) -> None:
    open_matches = schedule(suite, make_own_entries(suite))
    assert open_matches == schedule(parse_suite(suite.text()), make_own_entries(suite))
    ids = [match[0] for matches in open_matches.values() for match in matches]
    assert len(set(ids)) == len(ids)
    streams = [match[4] for matches in open_matches.values() for match in matches]
    assert len(set(streams)) == len(streams)


@given(suites, st.integers(0, 2**48))
@settings(max_examples=20)
def test_new_entry_keeps_existing_matches(suite: Suite, seed: int) -> None:
    entries = make_own_entries(suite)
    before = schedule(suite, entries)
    games = [game.name for game in suite.games]
    more = make_entry(suite, "mcts-25", len(entries), seed, own=False, games=games[:1])
    if "mcts-25" in suite.players:
        return
    after = schedule(suite, [*entries, more])
    assert {name: matches for name, matches in after.items() if name in before} == before
    for name, matches in after.items():
        if name not in before:
            assert all("mcts-25" in names for _, _, names, *_ in matches)
            assert all(game == games[0] for _, game, *_ in matches)
    assert (
        schedule(suite, [*entries, make_entry(suite, "mcts-25", len(entries), None, own=False, games=games)]) == before
    )


@given(st.integers(3, 14), st.integers(1, 20), st.integers(0, 99))
@settings(max_examples=40)
def test_three_seat_lineups_are_balanced(count: int, most: int, seed: int) -> None:
    suite = parse_suite(
        f'name = "s"\nseed = {seed}\nlineups = {most}\nplayers = ["random"]\n[[games]]\n'
        'name = "universal_poker(players=3)"\n'
    )
    game = suite.games[0].name
    entries = [make_entry(suite, f"mcts-{n + 1}", n, seed, own=True, games=[game]) for n in range(count + 1)]
    tables = [one.players[:-1] for one in make_lineups(suite, entries) if one.players[-1] == entries[-1].player]
    sat = Counter(player for table in tables for player in table)
    assert len(set(tables)) == len(tables) == min(most, len([*combinations(range(count), 2)]))
    assert max(sat.values()) - min(sat[entry.player] for entry in entries[:-1]) <= 2


def test_pairings_share_only_their_deals() -> None:
    suite = parse_suite('name = "s"\nplayers = ["random", "greedy", "mcts-3"]\n[[games]]\nname = "leduc_poker"\n')
    planned = [[*make_jobs(lineup, make_cast(lineup))] for lineup in make_lineups(suite, make_own_entries(suite))]
    assert len(planned) == 3
    assert len({tuple(job.seed for job in matches) for matches in planned}) == 1
    assert len({job.player_seed for matches in planned for job in matches}) == 3 * 80


def test_only_deterministic_lineups_get_openings() -> None:
    suite = parse_suite('name = "s"\nplayers = ["hold-20", "hold-9", "random"]\n[[games]]\nname = "pig"\nopening = 4\n')
    planned = {
        lineup.players: [*make_jobs(lineup, make_cast(lineup))]
        for lineup in make_lineups(suite, make_own_entries(suite))
    }
    assert {names: {job.opening for job in matches} for names, matches in planned.items()} == {
        ("hold-20", "hold-9"): {4},
        ("hold-20", "random"): {0},
        ("hold-9", "random"): {0},
    }


def test_refuses_non_canonical_player_names() -> None:
    suite = parse_suite('name = "s"\nplayers = ["random", "greedy"]\n[[games]]\nname = "tic_tac_toe"\n')
    [lineup] = make_lineups(suite, make_own_entries(suite))
    with pytest.raises(BadOption, match="'greedy' is not a canonical name"):
        make_jobs(lineup, [PLAYERS["random"]] * 2)


@given(st.lists(st.text(max_size=80), min_size=2, unique=True))
def test_slugs_are_safe_and_distinct(texts: list[str]) -> None:
    slugs = [make_slug(text) for text in texts]
    assert len(set(slugs)) == len(texts)
    for one in [*slugs, join_slugs(slugs * 20)]:
        assert one
        assert set(one) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.-")
        assert not one.startswith(("-", "."))
        assert len(one) < 240
    assert [make_slug(name) for name in NAMES] == NAMES
