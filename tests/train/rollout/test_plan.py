"""Plans: shared and separate parts of groups, rotation of games and seats, and determinism by seed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.train.rollout.playing import play_sets

from gymposium import load_game, make_player
from gymposium.errors import UnknownName
from gymposium.util.streams import stream
from gymposium_agents.chat.tokens import Policy
from gymposium_train.config import Pool, Stage
from gymposium_train.credit.make import CREDITS
from gymposium_train.rollout import MatchPlanner, PlannedGroup
from gymposium_train.rollout.plan import estimate_turns

Who = Callable[..., MatchPlanner]
GAMES = ["tic_tac_toe", "kuhn_poker", "blackjack", "hearts", "goofspiel(num_cards=3)"]
MIXTURE = {"random": 2.0, "mcts-10": 1.0, "self": 1.0, "past": 2.0}

several_games = st.lists(st.sampled_from(GAMES), min_size=1, max_size=4, unique=True).filter(
    lambda g: g != ["blackjack"]
)


def describe_plan(planned: list[PlannedGroup]) -> list[Any]:
    """A plan without the players' identities."""
    return [
        (
            one.game.name,
            one.opponent,
            one.version,
            one.seats,
            one.stage,
            [(job.id, job.seed, job.player_seed, [player.name for player in job.players]) for job in one.jobs],
        )
        for one in planned
    ]


@settings(max_examples=25)
@given(names=several_games, groups=st.integers(1, 5), size=st.integers(1, 4), step=st.integers(0, 50))
def test_sets_share_deals_but_not_random_streams(
    who: Who, new_cast: Any, names: list[str], groups: int, size: int, step: int
) -> None:
    cast = new_cast()
    planned = who(cast, names, MIXTURE, groups=groups, group_size=size).plan(step)
    assert len(planned) == groups
    for one in planned:
        assert len(one.jobs) == size
        assert {id(job.game) for job in one.jobs} == {id(one.game)}
        assert len({job.seed for job in one.jobs}) == 1, "one deal"
        assert len({tuple(map(id, job.players)) for job in one.jobs}) == 1, "one opponent"
        (*seated,) = one.jobs[0].players
        if one.opponent in ("self", "alone"):
            assert one.seats == tuple(range(one.game.seats))
            assert all(player is cast.player for player in seated)
            assert (one.game.seats == 1) == (one.opponent == "alone")
        else:
            (seat,) = one.seats
            others = [player for s, player in enumerate(seated) if s != seat]
            assert seated[seat] is cast.player
            assert {player.name for player in others} == {str(one.version) if one.opponent == "past" else one.opponent}
        assert (one.version in cast.kept) == (one.opponent == "past")
    jobs = [job for one in planned for job in one.jobs]
    assert len({job.id for job in jobs}) == len({job.player_seed for job in jobs}) == groups * size
    assert len({job.seed for job in jobs}) == groups


@settings(max_examples=25)
@given(names=several_games, groups=st.integers(1, 4))
def test_games_and_seats_rotate(who: Who, new_cast: Any, names: list[str], groups: int) -> None:
    """Over enough steps every seat of every game is visited, and all seats of a game equally often."""
    plays = who(new_cast(), names, groups=groups, group_size=1)
    steps = len(names) * 12  # 12: what 1, 2 and 4 seats go into
    planned = [one for step in range(steps) for one in plays.plan(step)]
    assert [one.game.name for one in planned[: len(names)]] == names
    visits = Counter((one.game.name, seat) for one in planned for seat in one.seats)
    for one in planned:
        seats = {visits[one.game.name, seat] for seat in range(one.game.seats)}
        assert len(seats) == 1
    assert len({sum(visits[name, seat] for seat in range(4)) for name in names}) == 1


def test_random_stream_names_are_stable(who: Who, new_cast: Any) -> None:
    """Runs can be compared with those of other versions only if they play the same deals."""
    planned = who(new_cast(), ["kuhn_poker"], groups=2, group_size=2, seed=7).plan(3)
    for group, one in enumerate(planned):
        assert one.opponent == "random"
        assert one.seats == ((3 * 2 + group) % 2,)
        for member, job in enumerate(one.jobs):
            assert job.id == f"train-3-{group}-{member}"
            assert job.seed == stream(7, "train", 3, group).getrandbits(48)
            assert job.player_seed == stream(7, "train", 3, group, member).getrandbits(48)


def test_group_size_grows_over_steps(who: Who, new_cast: Any) -> None:
    plays = who(new_cast(), ["kuhn_poker"], groups=1, group_size=4, growth=4.0, steps=3)
    assert [len(plays.plan(step)[0].jobs) for step in range(3)] == [4, 8, 16]


def test_opponents_are_drawn_by_weight(who: Who, new_cast: Any) -> None:
    plays = who(new_cast(), ["tic_tac_toe"], MIXTURE, groups=10, group_size=1)
    met = Counter(one.opponent for step in range(120) for one in plays.plan(step))
    assert met.total() == 1200
    for name, share in MIXTURE.items():
        assert met[name] / 1200 == pytest.approx(share / 6, abs=0.04)  # 3 standard errors


def test_group_opponents_are_independent(who: Who, new_cast: Any) -> None:
    few, many = (who(new_cast(), ["tic_tac_toe"], MIXTURE, groups=groups) for groups in (2, 6))
    assert [one.opponent for one in few.plan(5)] == [one.opponent for one in many.plan(5)][:2]


def test_equal_players_share_one_instance(who: Who, new_cast: Any) -> None:
    planned = who(new_cast(), ["tic_tac_toe"], {"past": 1.0, "random": 1.0}, groups=12).plan(0)
    assert len({id(player) for one in planned for player in one.jobs[0].players}) == 3


@pytest.mark.parametrize(("kind", "noted"), [("gae", True), ("gigpo", True), ("grpo", False), ("rae", False)])
def test_turn_credit_stores_returns(who: Who, new_cast: Any, kind: Any, noted: bool) -> None:
    plays = who(new_cast(), ["tic_tac_toe"], credit=CREDITS.kinds()[kind]())
    assert {job.store_returns for one in plays.plan(0) for job in one.jobs} == {noted}


def test_unknown_opponent_is_an_error(who: Who, new_cast: Any) -> None:
    with pytest.raises(UnknownName, match="randm"):
        who(new_cast(), ["tic_tac_toe"], {"random": 1.0}, {"randm": 1.0})


CURRICULUM = (
    Stage(opponents={"past": 1.0, "random": 1.0}, promote=0.55, window=12),
    Stage(opponents={"mcts-10": 1.0, "past": 1.0, "self": 1.0}, demote=0.3, window=20),
)


def collect_steps(plays: MatchPlanner, cast: Any, steps: range) -> list[Any]:
    """Plans and metrics of these steps, which are played. The policy changes from step to step."""
    found = []
    for step in steps:
        cast.now = step
        planned = plays.plan(step)
        groups, _ = play_sets(planned)
        found.append((describe_plan(planned), plays.note(groups)))
    return found


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32), stop=st.integers(1, 11))
def test_plans_are_deterministic_and_resume(who: Who, new_cast: Any, seed: int, stop: int) -> None:
    def begin(cast: Any) -> MatchPlanner:
        pool = Pool(every=2, size=3)
        return who(cast, ["tic_tac_toe", "kuhn_poker"], *CURRICULUM, pool=pool, seed=seed)

    whole = collect_steps(begin(cast := new_cast()), cast, range(12))
    interrupted = begin(cast := new_cast())
    first = collect_steps(interrupted, cast, range(stop))
    state = json.loads(json.dumps(interrupted.state()))
    resumed = begin(cast)
    resumed.restore(state)
    assert first + collect_steps(resumed, cast, range(stop, 12)) == whole


def test_stronger_past_versions_are_met_more_often(who: Who, new_cast: Any) -> None:
    cast = new_cast()
    cast.past = lambda policy: make_player("mcts-50" if policy.version == 0 else "random")
    plays = who(cast, ["tic_tac_toe"], {"past": 1.0}, pool=Pool(every=2, size=2), group_size=6)
    collect_steps(plays, cast, range(4))
    strong, weak = plays.past.versions
    assert strong.win_rate < 0.3 < weak.win_rate


def test_planning_is_idempotent(who: Who, new_cast: Any) -> None:
    cast = new_cast()
    plays = who(cast, ["tic_tac_toe"], MIXTURE)
    assert describe_plan(plays.plan(0)) == describe_plan(plays.plan(0))
    assert cast.kept == [Policy("learner", 0)]


def test_versions_are_kept_only_for_stages_that_use_them(who: Who, new_cast: Any) -> None:
    cast = new_cast()
    who(cast, ["tic_tac_toe"], {"random": 1.0, "self": 1.0}).plan(0)
    assert cast.kept == []
    who(cast, ["tic_tac_toe"], {"random": 1.0}, {"past": 1.0}).plan(0)
    assert cast.kept == [Policy("learner", 0)], "as it was at the beginning, for the stages to come"


def test_typical_length_comes_from_random_play() -> None:
    assert estimate_turns(load_game("mail(mails=20,max_calls=5)")) > 2.0
    assert estimate_turns(load_game("hex(board_size=3)")) > 2.0
    assert estimate_turns(load_game("trace")) == 1.0
