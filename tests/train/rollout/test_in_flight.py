"""Matches in flight across steps: bounded staleness, nothing lost, no thread left behind."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import TypeAdapter
from tests.train.rollout.playing import play_sets, tie_groups

from gymposium import load_game, make_player
from gymposium.errors import BadOption, GymposiumError
from gymposium.match import MatchJob, MatchResult, Schedule, play
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.players.teaching import CachedTeacher
from gymposium_agents.chat.tokens import Policy, Sampling, TurnTokens
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config import Pool
from gymposium_train.config.directory import check_state
from gymposium_train.rollout import LocalExecutor, MatchGroup, MatchPlanner, MatchRollouts
from gymposium_train.rollout.in_flight import MatchesInFlight
from gymposium_train.rollout.pool import PastVersions
from gymposium_train.rollout.stored import StoredMatch

Who = Callable[..., MatchPlanner]
PATIENCE = 60.0
"""Seconds after which a test that waits for a thread has failed."""


@pytest.fixture(autouse=True)
def check_threads() -> Iterator[None]:
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "rollouts"] == []


class Hooked:
    """A random player that calls `hook` before it answers."""

    def __init__(self, name: str, hook: Callable[[], object]) -> None:
        self._random, self._hook = make_player("random"), hook
        self.name, self.reader, self.style = name, self._random.reader, self._random.style

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        self._hook()
        return self._random.act(asks)


@dataclass
class HookedCast:
    """A `PlayerSource` whose learners are named by their version. The hook of each new learner is the next of
    `hooks`."""

    now: int = 0
    hooks: list[Callable[[], object]] = field(default_factory=list)

    def learner(self) -> Player:
        return Hooked(f"v{self.now}", self.hooks.pop(0) if self.hooks else lambda: None)


def make_source(
    who: Who, cast: Any, staleness: int, steps: int = 4, schedule: Schedule = "streaming", **more: Any
) -> tuple[MatchRollouts, dict[str, int]]:
    """A source, and the version that played each finished match."""
    versions: dict[str, int] = {}

    def record(played: MatchResult) -> None:
        (name,) = {player.name for player in played.job.players if player.name.startswith("v")}
        versions[played.job.id] = int(name[1:])

    planner = who(cast, ["tic_tac_toe", "kuhn_poker"], groups=3, group_size=2)
    return MatchRollouts(planner, LocalExecutor(schedule), record, staleness=staleness, steps=steps, **more), versions


@given(st.integers(0, 3), st.integers(1, 5), st.sampled_from(["rounds", "streaming"]))
@settings(max_examples=12)
def test_staleness_stays_within_its_bound(who: Who, bound: int, steps: int, schedule: Schedule) -> None:
    cast = HookedCast()
    source, versions = make_source(who, cast, bound, steps, schedule)
    with closing(source):
        for step in range(steps):
            groups, metrics = source.roll_out(step)
            assert len(groups) == 3
            lags = {step - v for match, v in versions.items() if match.startswith(f"train-{step}-")}
            assert lags == {metrics["rollout/staleness"]} == {min(step, bound)}
            cast.now += 1
            source.published(step + 1)
    assert not any(match.startswith(f"train-{steps}-") for match in versions), "nothing is played in vain"


def test_on_policy_matches_are_played_in_the_callers_thread(who: Who) -> None:
    seen: list[threading.Thread] = []
    cast = HookedCast(hooks=[lambda: seen.append(threading.current_thread())] * 2)
    source, _ = make_source(who, cast, 0, schedule="rounds")
    with closing(source):
        for step in range(2):
            source.roll_out(step)
            before = len(seen)
            source.published(step + 1)
            assert len(seen) == before
    assert {*seen} == {threading.main_thread()}


@pytest.mark.parametrize("opponents", [{"random": 1.0}, {"self": 1.0, "past": 1.0}])
def test_on_policy_rollouts_equal_separate_steps(who: Who, new_cast: Any, opponents: dict[str, float]) -> None:
    source = MatchRollouts(who(new_cast(), ["tic_tac_toe"], opponents))
    plain = who(new_cast(), ["tic_tac_toe"], opponents)
    for step in range(3):
        expected, metrics = play_sets(plain.plan(step))
        metrics |= plain.note(expected)
        groups, found = source.roll_out(step)
        source.published(step + 1)
        assert list_matches(groups) == list_matches(expected)
        assert drop_times(found) == drop_times(metrics)
    assert source.state()["planner"] == plain.state()


def drop_times(metrics: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if not name.startswith("perf/")}


def list_matches(groups: Sequence[MatchGroup]) -> list[Any]:
    return [(g.game.name, g.seat, g.opponent, [(t.match, t.events, t.returns) for t in g.trajectories]) for g in groups]


def test_matches_of_later_steps_fill_the_tail(who: Who) -> None:
    """The learner of step 0 answers only once a match of step 1 has ended. After that one, the learner of step 1
    answers only once a match of step 2 has ended, which begins while all others wait."""
    ended = [Event() for _ in range(4)]

    def number(played: MatchResult) -> int:
        return int(played.job.id.split("-")[1])

    def wait_for(step: int) -> Callable[[], object]:
        return lambda: ended[step].wait(PATIENCE) or pytest.fail(f"step {step - 1} ends before step {step} begins")

    cast = HookedCast(hooks=[wait_for(1), lambda: ended[1].is_set() and wait_for(2)()])
    planner = who(cast, ["tic_tac_toe"], groups=3, group_size=2)
    source = MatchRollouts(planner, LocalExecutor("streaming"), lambda one: ended[number(one)].set(), staleness=1)
    with closing(source):
        for step in range(2):
            _, metrics = source.roll_out(step)
            assert metrics["rollout/staleness"] == step
            source.published(step + 1)


@pytest.mark.parametrize("staleness", [0, 1, 2])
@pytest.mark.parametrize("kills", [[0], [1], [3], [0, 1, 2, 3]])
def test_killed_run_resumes_to_the_same_groups(who: Who, staleness: int, kills: list[int]) -> None:
    """With tied groups that are replaced. Finished matches are not played again."""

    def is_lost(group: MatchGroup) -> bool:
        return {one.result for one in group.trajectories} == {"loss"}

    more: dict[str, Any] = {"rate": partial(tie_groups, tied=is_lost), "most_replaced": 1}
    source, _ = make_source(who, HookedCast(), staleness, **more)
    expected = []
    with closing(source):
        for step in range(4):
            groups, _ = source.roll_out(step)
            expected.append(list_matches(groups))
            source.published(step + 1)
    cast = HookedCast()
    source, played = make_source(who, cast, staleness, **more)
    before: set[str] = set()
    for step in range(4):
        groups, _ = source.roll_out(step)
        assert list_matches(groups) == expected[step]
        cast.now += 1
        source.published(step + 1)
        if step in kills:
            if staleness and step < 3:
                wait_for_matches(source)
            state = json.loads(json.dumps(source.state()))
            source.close()
            stored = {match for one in state["open"].values() for match in one["finished"]}
            assert bool(stored) == (staleness > 0 and step < 3)
            source, played = make_source(who, cast, staleness, **more)
            source.restore(state)
            assert source.state() == state
            source.published(step + 1)
            before = stored
    source.close()
    assert not before & played.keys()


def wait_for_matches(source: MatchRollouts) -> None:
    until = time.monotonic() + PATIENCE
    while not any(one["finished"] for one in source.state()["open"].values()):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("staleness", [0, 2])
def test_errors_are_raised_in_the_callers_thread(who: Who, staleness: int) -> None:
    def fail() -> None:
        raise GymposiumError("the engine is gone")

    source, _ = make_source(who, HookedCast(hooks=[fail]), staleness)
    with closing(source), pytest.raises(GymposiumError, match="the engine is gone"):
        source.roll_out(0)


def test_ctrl_c_interrupts_waiting_for_matches(who: Who, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, get = Event(), MatchesInFlight.get

    def get_and_tell(matches: MatchesInFlight) -> MatchResult:
        waiting.set()
        return get(matches)

    monkeypatch.setattr(MatchesInFlight, "get", get_and_tell)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores interrupts
    main, over = threading.main_thread().ident, Event()
    assert main is not None

    def interrupt() -> None:
        if not over.is_set():  # the player is asked again until the source is closed
            assert waiting.wait(PATIENCE)  # until then, the second step may not have begun
            signal.pthread_kill(main, signal.SIGINT)
            over.wait(PATIENCE)

    source, _ = make_source(who, HookedCast(hooks=[interrupt]), 1)
    try:
        with pytest.raises(KeyboardInterrupt):
            source.roll_out(0)
        assert source.state()["open"].keys() == {"0", "1"}, "a checkpoint resumes both steps"
    finally:
        signal.signal(signal.SIGINT, before)
        over.set()
        source.close()


def test_invalid_bound_is_refused(who: Who) -> None:
    with pytest.raises(BadOption, match="cannot be -1 steps behind"):
        make_source(who, HookedCast(), -1)


def test_playing_versions_are_not_released(new_cast: Any) -> None:
    cast = new_cast()
    pool = PastVersions(Pool(every=1, size=1), cast)
    first, second, third = (Policy("learner", n) for n in range(3))
    for step, playing in enumerate([(), (first,), (first, second)]):
        cast.now = step
        pool.keep(step, playing)
    assert cast.gone == []
    pool.keep(3, (second,))
    assert cast.gone == [first]
    pool.keep(4)
    assert cast.gone == [first, second]
    assert [version.policy for version in pool.versions] == [third]


def damage_text(step: dict[str, Any]) -> None:
    match = next(iter(step["finished"]))
    step["finished"][match] = step["finished"][match][:-20]


def damage_traces(step: dict[str, Any]) -> None:
    match, text = next(iter(step["finished"].items()))
    step["finished"][match] = json.dumps(json.loads(text) | {"traces": []})


def damage_sets(step: dict[str, Any]) -> None:
    del step["sets"][0]["game"]


def damage_game(step: dict[str, Any]) -> None:
    step["sets"][0]["game"] = "chess"


def damage_ids(step: dict[str, Any]) -> None:
    step["finished"]["train-7-0-0"] = next(iter(step["finished"].values()))


@pytest.mark.parametrize("damage", [damage_text, damage_traces, damage_sets, damage_game, damage_ids])
def test_damaged_steps_are_refused_when_they_are_read(
    who: Who, tmp_path: Path, damage: Callable[[dict[str, Any]], object]
) -> None:
    """Before a match begins again, and with the name of the file."""
    source, _ = make_source(who, HookedCast(), 1)
    with closing(source):
        source.roll_out(0)
        source.published(1)
        wait_for_matches(source)
        state = source.state()
    damage(next(one for one in state["open"].values() if one["finished"]))
    source, _ = make_source(who, HookedCast(), 1)
    file = tmp_path / "step-1" / "state.json"
    with pytest.raises(GymposiumError, match=f"{file} does not match .* Remove {file.parent}"), check_state(file):
        source.restore(state)


def test_stored_matches_keep_all_tokens(tiny: LoadedModel) -> None:
    teacher = CachedTeacher(make_player("random"))
    player = LanguageModelPlayer("learner", tiny.engine(), tiny.chat, sampling=Sampling(1.0, 4), teacher=teacher)
    game, adapter = load_game("kuhn_poker"), TypeAdapter(StoredMatch)
    jobs = [MatchJob(f"m{n}", game, [player, make_player("random")], n, store_returns=True) for n in range(3)]
    for played in play(jobs):
        stored = StoredMatch.from_match(played)
        again = adapter.validate_json(adapter.dump_json(stored)).to_match(played.job)
        assert [turn.trace for turn in again.turns] == [turn.trace for turn in played.turns]
        assert all(turn.trace.taught for turn in again.turns if isinstance(turn.trace, TurnTokens))
        assert again == played
