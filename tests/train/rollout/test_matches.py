"""From plans to groups: kept trajectories, counted omissions, and metrics."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.gymposium.tasks.guessing import ScriptedPlayer, a_guess, guessing, misbehaving
from tests.train.rollout.playing import play_sets, tie_groups

from gymposium import load_game, make_player
from gymposium.errors import GymposiumError
from gymposium.games.protocol import CHANCE
from gymposium.match import EngineError, MatchJob, MatchResult, Schedule
from gymposium.match.score import match_score
from gymposium.players.protocol import Ask, Reply
from gymposium.records.trajectories import Trajectory
from gymposium_agents.chat.tokens import Sampling, TurnTokens
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config import Prompting
from gymposium_train.rollout import LocalExecutor, MatchGroup, MatchPlanner, MatchRollouts, PlannedGroup

Who = Callable[..., MatchPlanner]
GAMES = ["tic_tac_toe", "kuhn_poker", "blackjack", "hearts", "goofspiel(num_cards=3)"]


class CoinPlayer:
    """Answers with a legal move, or with a failed reply in one of `sides` asks, at random."""

    def __init__(self, sides: int = 2, reply: Reply | None = None) -> None:
        self._random = make_player("random")
        self._sides, self._reply = sides, reply or Reply("")
        self.name, self.reader, self.style = "coin", self._random.reader, self._random.style

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        legal = self._random.act(asks)
        return [
            self._reply if ask.rng.random() * self._sides < 1.0 else reply
            for ask, reply in zip(asks, legal, strict=True)
        ]


@dataclass
class Played:
    """A step's rollout, and its matches by id."""

    groups: list[MatchGroup]
    metrics: dict[str, float]
    planned: list[PlannedGroup]
    finished: dict[str, MatchResult]


def play_step(plays: MatchPlanner, step: int = 0, schedule: Schedule = "rounds") -> Played:
    finished = dict[str, MatchResult]()
    planned = plays.plan(step)
    groups, metrics = play_sets(planned, lambda one: finished.setdefault(one.job.id, one), schedule)
    return Played(groups, metrics, planned, finished)


def test_groups_hold_learner_trajectories_of_one_seat_and_deal(who: Who, new_cast: Any, tiny: LoadedModel) -> None:
    """With a real language model, whose turns have tokens. A failed reply is replaced by a random move, so there are
    many turns."""
    learner = LanguageModelPlayer("learner", tiny.engine(), tiny.chat, sampling=Sampling(1.0, 4))
    plays = who(new_cast(player=learner), ["kuhn_poker"], group_size=6, prompting=Prompting(on_illegal="random"))
    it = play_step(plays, step=1)
    assert [(group.seat, group.opponent, group.version) for group in it.groups] == [
        (0, "random", None),
        (1, "random", None),
    ] * 2
    for one, group in zip(it.planned, it.groups, strict=True):
        assert len({tuple(e for e in t.events if e.seat == CHANCE) for t in group.trajectories}) == 1, "the same cards"
        assert group.trajectories == tuple(Trajectory.from_match(it.finished[job.id], group.seat) for job in one.jobs)
    turns = [turn for group in it.groups for t in group.trajectories for turn in t.turns]
    assert all(isinstance(turn.trace, TurnTokens) and turn.trace.completion.ids for turn in turns)


@pytest.mark.parametrize("name", ["tic_tac_toe", "goofspiel(num_cards=3)", "hearts"])
def test_self_play_makes_one_group_per_seat(who: Who, new_cast: Any, name: str) -> None:
    seats = load_game(name).seats
    it = play_step(who(new_cast(), [name], {"self": 1.0}, groups=2, group_size=5))
    assert [group.seat for group in it.groups] == [*range(seats)] * 2
    for number, one in enumerate(it.planned):
        groups = it.groups[number * seats : (number + 1) * seats]
        assert all({t.seat for t in group.trajectories} == {group.seat} for group in groups), "seats never share one"
        for matches in zip(*(group.trajectories for group in groups), strict=True):
            assert len({tuple(t.events) for t in matches}) == 1
        assert len(groups[0].trajectories) == len(one.jobs) == 5


@settings(max_examples=20)
@given(step=st.integers(0, 20), sides=st.integers(1, 5))
def test_opponent_forfeits_are_dropped_and_counted(who: Who, new_cast: Any, step: int, sides: int) -> None:
    cast = new_cast()
    cast.past = lambda policy: CoinPlayer(sides)
    it = play_step(who(cast, ["kuhn_poker"], {"past": 1.0}, group_size=8), step)
    forfeited = sum(played.ending.seat is not None for played in it.finished.values())
    assert it.metrics["rollout/dropped"] == forfeited
    kept = [t for group in it.groups for t in group.trajectories]
    assert len(kept) == len(it.finished) - forfeited
    assert all(t.ending.seat is None for t in kept)
    assert all(group.trajectories for group in it.groups), "a group that nothing is left of is none"


@settings(max_examples=20)
@given(step=st.integers(0, 20), sides=st.integers(1, 5))
def test_self_play_trains_only_the_forfeiting_seat(who: Who, new_cast: Any, step: int, sides: int) -> None:
    plays = who(new_cast(player=CoinPlayer(sides)), ["tic_tac_toe"], {"self": 1.0}, group_size=8)
    it = play_step(plays, step)
    forfeited = sum(played.ending.seat is not None for played in it.finished.values())
    kept = [t for group in it.groups for t in group.trajectories]
    assert it.metrics["rollout/dropped"] == forfeited
    assert len(kept) == 2 * len(it.finished) - forfeited
    assert sum(t.forfeited for t in kept) == forfeited


def test_matches_without_room_to_begin_are_dropped(who: Who, new_cast: Any) -> None:
    full = Reply("", "context", (1, 2, 3))
    it = play_step(who(new_cast(player=CoinPlayer(2, full)), ["tic_tac_toe"], group_size=20))
    first = sum(
        p.ending.seat is not None and p.ending.seat not in {t.seat for t in p.turns} for p in it.finished.values()
    )
    assert it.metrics["rollout/silent"] == first > 0
    cut = [t for group in it.groups for t in group.trajectories if t.truncated]
    assert len(cut) + first == sum(played.ending.kind == "out of context" for played in it.finished.values())
    assert all(t.turns and t.unanswered == (1, 2, 3) for t in cut)
    kept = sum(len(group.trajectories) for group in it.groups)
    assert it.metrics["rollout/truncated"] == pytest.approx(len(cut) / kept)


@pytest.mark.parametrize("opponents", [{"random": 1.0}, {"self": 1.0}, {"past": 1.0, "mcts-10": 1.0}])
def test_schedules_give_equal_rollouts(who: Who, new_cast: Any, opponents: dict[str, float]) -> None:
    """Nor does it change the order in a group. In the order of ends short matches would come first, and a moving
    baseline would read the losses before the wins."""
    told = []
    for schedule in ("rounds", "streaming"):
        it = play_step(who(new_cast(), GAMES[:2], opponents), 3, schedule)  # type: ignore[arg-type]
        told.append([(g.seat, g.opponent, [t.events for t in g.trajectories]) for g in it.groups])
        assert it.metrics["rollout/dropped"] == it.metrics["rollout/silent"] == 0
        by_plan = [tuple(it.finished[job.id].events) for one in it.planned for _ in one.seats for job in one.jobs]
        assert [events for _, _, group in told[-1] for events in group] == by_plan
    assert told[0] == told[1]


def test_metrics_are_reported_by_opponent_and_game(who: Who, new_cast: Any) -> None:
    plays = who(
        new_cast(player=CoinPlayer(8)),
        GAMES,
        {"random": 1.0, "mcts-1": 1.0, "self": 1.0},
        groups=40,
        group_size=4,
        prompting=Prompting(on_illegal="penalty(0.5,1)"),
    )
    it = play_step(plays)
    found = it.metrics

    def expect(
        tail: str, head: str, chosen: Callable[[PlannedGroup], bool], judged: Callable[[PlannedGroup], bool]
    ) -> None:
        matches = [(one, it.finished[job.id]) for one in it.planned if chosen(one) for job in one.jobs]
        assert found[f"rollout/{head}matches{tail}"] == len(matches) > 0
        decisions = sum(sum(event.seat != CHANCE for event in played.events) for _, played in matches)
        assert found[f"rollout/{head}decisions{tail}"] == pytest.approx(decisions / len(matches))
        replies = [turn for one, played in matches for turn in played.turns if turn.seat in one.seats]
        bad = sum(turn.reading == "unparsable" for turn in replies)
        assert found[f"rollout/{head}unparsable{tail}"] == pytest.approx(bad / len(replies))
        assert found[f"rollout/{head}illegal{tail}"] == found[f"rollout/{head}cut_off{tail}"] == 0.0
        kept = [
            (played, seat)
            for one, played in matches
            for seat in one.seats
            if judged(one) and played.ending.seat in (None, seat)
        ]
        for result in ("win", "draw", "loss"):
            shared = [(played, seat) for played, seat in kept if played.job.game.seats > 1]
            name = f"rollout/{head}{result}{tail}"
            if not shared:
                assert name not in found
                continue
            share = sum(played.result(seat) == result for played, seat in shared) / len(shared)
            assert found[name] == pytest.approx(share)
        scores = [match_score(p.job.game, p.utilities, seat, p.ending.seat) for p, seat in kept]
        assert found[f"rollout/{head}score{tail}"] == pytest.approx(sum(scores) / len(scores))
        if head:
            returns = [played.returns[seat] for played, seat in kept]
            assert found[f"rollout/{head}return{tail}"] == pytest.approx(sum(returns) / len(returns))

    expect("", "", lambda one: True, lambda one: one.opponent != "self")
    for name in ("random", "mcts-1", "self", "alone"):
        expect(f"/{name}", "", lambda one, name=name: one.opponent == name, lambda one: True)
    for game in GAMES:
        expect("", f"{game}/", lambda one, game=game: one.game.name == game, lambda one: one.opponent != "self")
    assert found["rollout/dropped"] > 0
    assert found["rollout/silent"] == 0
    assert "rollout/return" not in found, "of different games"


def test_games_with_unbounded_returns_have_no_score(who: Who, new_cast: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plays = who(new_cast(), ["blackjack"])
    endless = plays.plan(0)[0].game
    monkeypatch.setattr(endless, "utility_range", (-1.0, float("inf")))
    metrics = play_step(plays).metrics
    assert "rollout/score" not in metrics
    assert "rollout/blackjack/return" in metrics


class Fragile:
    """Tic-tac-toe whose engine fails at a move to the center."""

    def __init__(self) -> None:
        self._game = load_game("tic_tac_toe")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def new(self, seed: int) -> Any:
        return FragileMatch(self._game.new(seed))


class FragileMatch:
    def __init__(self, match: Any) -> None:
        self._match = match

    def __getattr__(self, name: str) -> Any:
        return getattr(self._match, name)

    def apply(self, moves: Mapping[int, str]) -> None:
        if "b2" in moves.values():
            raise ZeroDivisionError("the centre does not hold")
        self._match.apply(moves)


def test_broken_game_is_reported_and_stops_the_rollout(who: Who, new_cast: Any) -> None:
    fragile: Any = Fragile()
    planned = [
        replace(one, game=fragile, jobs=tuple(replace(job, game=fragile) for job in one.jobs))
        for one in who(new_cast(), ["tic_tac_toe"]).plan(0)
    ]
    told: list[MatchResult] = []
    with pytest.raises(EngineError, match="the centre does not hold"):
        play_sets(planned, told.append)
    assert told[-1].ending.broke_off


def plan_worlds(scripts: Sequence[Sequence[str]], number: int = 0) -> PlannedGroup:
    """A group of matches of a world, one for each script of replies."""
    game = guessing()
    jobs = [MatchJob(f"m{number}-{n}", game, [ScriptedPlayer(*script)], 4) for n, script in enumerate(scripts)]
    return PlannedGroup(game, "alone", None, (0,), 0, tuple(jobs))


RIGHT, BREAKS = (a_guess(2), a_guess(4)), (a_guess(2), misbehaving("raise"))


def test_matches_with_failed_tools_are_dropped_and_counted() -> None:
    told: list[MatchResult] = []
    planned = [plan_worlds([RIGHT, BREAKS, RIGHT]), plan_worlds([RIGHT, BREAKS], 1)]
    groups, metrics = play_sets(planned, told.append)
    assert [[one.returns for one in group.trajectories] for group in groups] == [[(1.0,), (1.0,)]]
    assert (metrics["rollout/broken"], metrics["rollout/matches"]) == (2, 3)
    assert sum(played.ending.broke_off for played in told) == 2, "they are recorded"


def test_too_many_broken_matches_stop_the_run() -> None:
    planner: Any = SimpleNamespace(
        plan=lambda step, playing: [plan_worlds([RIGHT, BREAKS, BREAKS])], note=lambda groups: {}
    )
    planner.state = dict
    _, metrics = MatchRollouts(planner, most_broken=0.7).roll_out(0)
    assert metrics["rollout/broken"] == 2
    cause = "The tool misbehave failed: OSError: the server is gone"
    with pytest.raises(GymposiumError, match=f"2 of 3 matches of step 1 broke off.*: {cause}"):
        MatchRollouts(planner, most_broken=0.5).roll_out(0)


def replay_ties(
    planner: MatchPlanner, schedule: Schedule, most: int, tied: Callable[[MatchGroup], bool]
) -> tuple[list[MatchGroup], dict[str, float], list[MatchResult]]:
    """The groups and metrics of the first step, in which groups are tied as told, and its matches."""
    told: list[MatchResult] = []
    source = MatchRollouts(planner, LocalExecutor(schedule), told.append, most_replaced=most)
    source.rate = partial(tie_groups, tied=tied)
    return *source.roll_out(0), told


def is_lost(group: MatchGroup) -> bool:
    return {one.result for one in group.trajectories} == {"loss"}


@pytest.mark.parametrize("opponents", [{"random": 1.0}, {"self": 1.0, "past": 1.0}])
def test_tied_groups_are_replaced(who: Who, new_cast: Any, opponents: dict[str, float]) -> None:
    """Whatever the order in which matches end. Groups of one, so that each has one result."""
    found = []
    for schedule in ("rounds", "streaming"):
        planner = who(new_cast(), GAMES[:2], opponents, groups=12, group_size=1)
        groups, metrics, told = replay_ties(planner, schedule, 1000, is_lost)  # type: ignore[arg-type]
        assert not any(map(is_lost, groups)) or "self" in opponents
        replaced = int(metrics["rollout/groups_replaced"])
        assert replaced > 0
        assert len(told) == metrics["rollout/matches"] == 12 + replaced
        assert len({played.job.id for played in told}) == len({played.job.seed for played in told}) == 12 + replaced
        found.append(sorted((g.game.name, g.seat, g.opponent, g.trajectories[0].match) for g in groups))
    assert found[0] == found[1]
    if "self" not in opponents:
        plain = who(new_cast(), GAMES[:2], opponents, groups=12, group_size=1).plan(0)
        roles = sorted((one.game.name, one.seats[0]) for one in plain)
        assert [role[:2] for role in found[0]] == roles, "the same games and seats"


def test_replacements_have_a_cap_and_count_in_results(who: Who, new_cast: Any) -> None:
    planner = who(new_cast(), ["tic_tac_toe"], groups=4, group_size=2)
    groups, metrics, told = replay_ties(planner, "rounds", 3, lambda group: True)
    assert metrics["rollout/groups_replaced"] == 3
    assert len(groups) == 4
    assert metrics["rollout/matches"] == len(told) == 14
    scores = planner.curricula["tic_tac_toe"].scores
    assert len(scores) == 14, "leaving out ties would bias the curriculum"
    _, metrics, _ = replay_ties(who(new_cast(), ["tic_tac_toe"]), "rounds", 0, lambda group: True)
    assert "rollout/groups_replaced" not in metrics


def test_rollouts_leave_global_rng_state_alone(who: Who, new_cast: Any) -> None:
    before = random.getstate()
    play_step(who(new_cast(), GAMES, {"random": 1.0, "past": 1.0, "self": 1.0}))
    assert random.getstate() == before


def test_empty_plan_plays_nothing() -> None:
    groups, metrics = play_sets([])
    assert groups == []
    assert metrics.pop("perf/seconds_rollout") >= 0.0
    assert metrics == {f"rollout/{name}": 0 for name in ("matches", "dropped", "silent", "broken", "staleness")}
