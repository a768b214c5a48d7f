"""Built-in rewards on played matches, and validation of any reward function."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from gymposium import load_game, make_player, make_reward
from gymposium.errors import BadOption, BadReward, PluginError, UnknownName
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.ending import Ending
from gymposium.match.failures import FailurePolicy
from gymposium.match.score import match_score
from gymposium.players.protocol import Ask, Reply
from gymposium.plugins.host import Host
from gymposium.records.trajectories import Trajectory
from gymposium.replies.reading import READERS
from gymposium.rewards.criteria import CRITERIA
from gymposium.rewards.protocol import CheckedReward, Reward

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "hooks" / "gymposium_rewards.md"


class ScriptedPlayer:
    """Gives these replies in order."""

    name = "says"
    reader = READERS["move"]
    style = "compact"

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._texts[ask.turn]) for ask in asks]


def played(*texts: Sequence[str], game: str = "tic_tac_toe", on_illegal: str = "forfeit") -> MatchResult:
    """One match in which each seat gives its own replies."""
    players = [ScriptedPlayer(*said) for said in texts]
    return next(play([MatchJob("m", load_game(game), players, 0, on_illegal=FailurePolicy.parse(on_illegal))]))


def trajectory(*texts: Sequence[str], seat: int = 0, on_illegal: str = "forfeit") -> Trajectory:
    return Trajectory.from_match(played(*texts, on_illegal=on_illegal), seat)


QUICK = trajectory(["a1", "b1", "c1"], ["a2", "b2"])
"""Seat 0 wins in 5 decisions of 9."""
LOST = trajectory(["a1", "b1", "c1"], ["a2", "b2"], seat=1)
SLOW = trajectory(["c3", "b2", "b1", "c2", "a2"], ["b3", "a3", "c1", "a1"])
DRAWN = trajectory(["c2", "b2", "a3", "b1", "a1"], ["c3", "c1", "b3", "a2"])
GAVE_UP = trajectory(["a1", "nonsense"], ["a2"])
PAID = trajectory(["a1", "nonsense", "a1", "b1", "c1"], ["a2", "b2"], on_illegal="penalty(0.25)")
"""Wins after two failed replies, at 0.25 each."""


def random_trajectories(game: str, matches: int = 20) -> list[Trajectory]:
    loaded, player = load_game(game), make_player("random")
    jobs = [MatchJob(f"m{n}", loaded, [player] * loaded.seats, n) for n in range(matches)]
    return [Trajectory.from_match(match, seat) for match in play(jobs) for seat in range(loaded.seats)]


def test_trajectory_is_one_seat_of_a_match() -> None:
    match = played(["a1", "nonsense", "b1", "c1"], ["a2", "b2"], on_illegal="penalty(0.25)")
    mine, theirs = Trajectory.from_match(match, 0), Trajectory.from_match(match, 1)
    assert [(turn.reading, turn.text) for turn in mine.turns] == [
        ("move", "a1"),
        ("unparsable", "nonsense"),
        ("move", "b1"),
        ("move", "c1"),
    ]
    assert [turn.text for turn in theirs.turns] == ["a2", "b2"]
    assert [event.move for event in theirs.events] == ["a1", "a2", "b1", "b2", "c1"]
    assert (mine.result, theirs.result, mine.decisions) == ("win", "loss", 5)
    assert (mine.penalty, theirs.penalty) == (0.25, 0.0)
    assert mine.returns == theirs.returns == match.returns == (0.75, -1.0)
    assert (GAVE_UP.forfeited, LOST.forfeited) == (True, False)


def test_chance_is_not_a_decision() -> None:
    for one in random_trajectories("kuhn_poker"):
        assert one.decisions == len(one.events) - 2  # two cards are dealt


def test_totals_of_the_built_in_rewards() -> None:
    group = [QUICK, SLOW, DRAWN, LOST, GAVE_UP, PAID]
    assert [r.total for r in make_reward("returns")(group)] == [1.0, 1.0, 0.0, -1.0, -1.0, 0.5]
    assert [r.total for r in make_reward("score")(group)] == [1.0, 1.0, 0.5, 0.0, 0.0, 0.5]
    assert make_reward("returns")([PAID])[0].parts == {"utility": 1.0, "penalties": -0.5}
    assert make_reward("score")([PAID])[0].parts == {"score": 1.0, "penalties": -0.5}
    found = make_reward("weighted(accuracy=1, efficiency=0.2, completeness=0)")(group)
    parts = {name: [reward.parts[name] for reward in found] for name in found[0].parts}
    assert parts == {
        "accuracy": [1.0, 1.0, 0.5, 0.0, 0.0, 1.0],
        "efficiency": [0.5, 0.0, 0.0, 0.0, 0.0, 0.5],  # 4 of 8 decisions after the first were saved
        "completeness": [1.0, 1.0, 1.0, 1.0, 0.0, 0.6],
        "penalties": [0.0, 0.0, 0.0, 0.0, 0.0, -0.5],
    }
    assert [r.total for r in found] == pytest.approx([1.1, 1.0, 0.5, 0.0, 0.0, 0.6])


def test_accuracy_is_the_reported_exact_score() -> None:
    reported = replace(QUICK, report={"exact": 0.25, "ignoring_white_space": 1.0})
    assert CRITERIA["accuracy"]([reported, QUICK]) == [0.25, 1.0]
    assert CRITERIA["efficiency"]([reported]) == [0.125]
    assert CRITERIA["accuracy"]([replace(reported, ending=Ending("no legal move", 0))]) == [0.0]


def test_reported_figure_is_a_criterion() -> None:
    told = replace(QUICK, report={"exact": 1.0, "sources": 0.5})
    reward = make_reward("weighted(accuracy=1,report.sources=0.2)")
    assert [one.total for one in reward([told, GAVE_UP])] == pytest.approx([1.1, 0.0])
    assert reward([told])[0].parts == {"accuracy": 1.0, "report.sources": 0.5, "penalties": 0.0}
    with pytest.raises(BadReward, match=r"report.read: tic_tac_toe does not report it. It reports exact, sources"):
        make_reward("weighted(report.read=1)")([told])


def test_forfeit_scores_zero_even_at_equal_utilities() -> None:
    """Equal utilities are a draw in the game, but a forfeit is a loss and the other seat wins."""
    tied = replace(QUICK, utilities=(-1.0, -1.0), ending=Ending("no legal move", 0))
    assert [r.total for r in make_reward("score")([tied, replace(tied, seat=1)])] == [0.0, 1.0]


@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker", "leduc_poker", "goofspiel(num_cards=4)", "2048"])
def test_criteria_are_within_0_and_1_and_reward_completion(game: str) -> None:
    group = random_trajectories(game)
    columns = {name: criterion(group) for name, criterion in CRITERIA.items()}
    assert all(0.0 <= value <= 1.0 for column in columns.values() for value in column)
    assert columns["completeness"] == [1.0] * len(group)
    for one, exact, brief in zip(group, columns["accuracy"], columns["efficiency"], strict=True):
        assert exact == match_score(one.game, one.utilities, one.seat)
        assert brief <= exact
    given_up = [replace(one, ending=Ending("no legal move", one.seat)) for one in group]
    assert all(set(criterion(given_up)) == {0.0} for criterion in CRITERIA.values())


@given(
    accuracy=st.floats(0.01, 10), share=st.floats(0, 1), order=st.permutations(list(range(5))), times=st.integers(1, 3)
)
def test_any_win_beats_any_draw_independently_of_others(
    accuracy: float, share: float, order: list[int], times: int
) -> None:
    """The weight of efficiency is not greater than that of accuracy. Built-in criteria do not compare trajectories."""
    reward = make_reward(f"weighted(accuracy={accuracy!r},efficiency={accuracy * share!r},completeness=0)")
    members = [QUICK, SLOW, DRAWN, LOST, replace(DRAWN, events=DRAWN.events[:1])]
    alone = [reward([member])[0] for member in members]
    quick, slow, drawn, lost, quick_draw = (one.total for one in alone)
    assert quick >= slow >= quick_draw - 1e-9 >= drawn - 1e-9 > lost - 1e-9
    group = [members[i] for i in order] * times
    assert reward(group) == [alone[i] for i in order] * times


def test_custom_criterion_sees_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_criteria.py").write_text(
        "def briefest(group):\n"
        "    least = min(len(t.turns) for t in group)\n"
        "    return [float(len(t.turns) == least) for t in group]\n"
        "def lazy(group):\n    return [1.0]\n"
        "broken = 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = make_reward("weighted(accuracy=1,own_criteria:briefest=0.5)")([QUICK, SLOW])
    assert [(r.total, r.parts["own_criteria:briefest"]) for r in found] == [(1.5, 1.0), (1.0, 0.0)]
    with pytest.raises(BadReward, match="Criterion own_criteria:lazy: got 1 value for a group of 2"):
        make_reward("weighted(own_criteria:lazy=1)")([QUICK, SLOW])
    with pytest.raises(BadOption, match="must be a function that takes a trajectory group, not 7"):
        make_reward("weighted(own_criteria:broken=1)")
    with pytest.raises(BadOption, match=r"'own_criteria:missing' could not be loaded: .*PYTHONPATH"):
        make_reward("weighted(own_criteria:missing=1)")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("weighed(accuracy=1)", UnknownName, "Unknown reward 'weighed'. Did you mean 'weighted'"),
        ("money", UnknownName, "Unknown reward 'money'. Known: clipped, posted, returns"),
        ("returns(2)", BadOption, "Use returns."),
        ("weighted(accuracy=1", BadOption, "Use weighted(CRITERION=WEIGHT,...)."),
        ("weighted", BadOption, "no criterion has a weight"),
        ("weighted()", BadOption, "no criterion has a weight"),
        ("weighted(accuracy=0)", BadOption, "all rewards would be equal"),
        ("weighted(accuracy)", BadOption, "'accuracy' must have the form CRITERION=WEIGHT"),
        ("weighted(=1)", BadOption, "'=1' must have the form"),
        ("weighted(accuracy=)", BadOption, "'accuracy=' must have the form"),
        ("weighted(accuracy=much)", BadOption, "accuracy=much: a weight must be a number"),
        ("weighted(accuracy=nan)", BadOption, "accuracy=nan: a weight must be a number"),
        ("weighted(accuracy=inf)", BadOption, "accuracy=inf: a weight must be a number"),
        ("weighted(accuracy=-1)", BadOption, "a criterion with negative values"),
        ("weighted(accuracy=1,accuracy=2)", BadOption, "duplicate weight for accuracy"),
        ("weighted(acuracy=1)", UnknownName, "Unknown criterion 'acuracy'. Did you mean 'accuracy'"),
        ("weighted(no_such_module:f=1)", BadOption, "No module named 'no_such_module'"),
    ],
)
def test_invalid_rewards_say_what_to_write(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        make_reward(text)


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ([Reward(1.0)], "1 reward for a group of 2 trajectories"),
        ([Reward(1.0)] * 3, "3 rewards for a group of 2"),
        ([Reward(1.0), 2.0], r"2.0 for trajectory 1\. Return a Reward"),
        ([Reward(math.nan), Reward(1.0)], "total of trajectory 0 is nan"),
        ([Reward(1.0), Reward(1.0, {"speed": math.inf})], "speed of trajectory 1 is inf"),
        ([Reward(1.0, {"speed": 1.0}), Reward(1.0)], r"trajectory 1 has the parts \[\], but the first has \['speed'\]"),
    ],
)
def test_invalid_reward_values_are_refused(rewards: list[Reward], message: str) -> None:
    with pytest.raises(BadReward, match=f"Reward mine: .*{message}"):
        CheckedReward("mine", lambda group: rewards)([QUICK, LOST])


def test_hook_page_shows_a_working_plugin(tmp_path: Path) -> None:
    spec, function = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "page_rewards.py"
    file.write_text(function + spec.replace("my_package.rewards:", "page_rewards:"), encoding="utf-8")
    host = Host(autoload=False)
    try:
        host.load_file(file)
        groups = host.rewards["brief"].parse("brief(0.5)")
        assert groups == {"cost": "0.5"}
        function = CheckedReward("brief", host.implementation(host.rewards["brief"])(**groups))
        assert function([QUICK]) == [Reward(-2.0, {"paid": 1.0, "written": 6})]
    finally:
        sys.modules.pop("page_rewards", None)


def test_plugin_cannot_take_a_built_in_reward_name(tmp_path: Path) -> None:
    file = tmp_path / "greedy_rewards.py"
    file.write_text(
        "from gymposium import RewardSpec, hookimpl\n"
        "@hookimpl\n"
        "def gymposium_rewards():\n"
        "    yield RewardSpec(name='score', form='score', pattern='score', summary='M', entry_point='m:f')\n"
    )
    with pytest.raises(PluginError, match="yields 'score', which builtin already has"):
        Host(autoload=False).load_file(file)
    sys.modules.pop("greedy_rewards", None)
