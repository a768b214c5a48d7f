"""Time, tokens and cost of replies: stored per turn and summed in scores."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from gymposium import load_game, make_player
from gymposium.errors import BadRecord
from gymposium.games.protocol import Style
from gymposium.match import MatchJob, MatchResult, play
from gymposium.players.protocol import Ask, Reply, Usage
from gymposium.records import Record, find_first_difference
from gymposium.records.scores import Score
from gymposium.replies.reading import READERS

RANDOM = make_player("random")


class UsageReporter:
    """Plays at random and reports usage."""

    name, reader = "counted", READERS["move"]

    def __init__(self, *usages: Usage | None) -> None:
        """Repeats `usages`, one for each turn."""
        self.style: Style = "compact"
        self._usages = usages

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies = [RANDOM.act([ask])[0] for ask in asks]
        for ask, reply in zip(asks, replies, strict=True):
            reply.usage = self._usages[ask.turn % len(self._usages)]
        return replies


def match(*usages: Usage | None, seed: int = 0) -> MatchResult:
    [played] = play([MatchJob("m", load_game("connect_four"), [UsageReporter(*usages), RANDOM], seed)])
    return played


def test_usage_is_recorded_per_turn() -> None:
    played = match(Usage(11, 3, 0.12345678, 0.002), Usage(None, 2, 0.5), Usage(seconds=1), None)
    mine = [turn for turn in Record.parse(Record.from_match(played).line()).turns if turn["seat"] == 0][:4]
    assert [turn.get("tokens") for turn in mine] == [[11, 3], [None, 2], None, None]
    assert [turn.get("seconds") for turn in mine] == [0.123457, 0.5, 1, None]
    assert [turn.get("cost") for turn in mine] == [0.002, None, None, None]
    others = [turn for turn in Record.from_match(played).turns if turn["seat"] == 1]
    assert {frozenset(turn) for turn in others} == {frozenset({"seat", "reading", "text"})}
    assert find_first_difference(Record.from_match(played)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": 3},
        {"tokens": [1]},
        {"tokens": [1, 2, 3]},
        {"tokens": [1, -2]},
        {"tokens": [1, 0.5]},
        {"tokens": [True, 1]},
        {"seconds": -1},
        {"seconds": "1"},
        {"seconds": None},
        {"cost": -1},
    ],
)
def test_invalid_usage_count_invalidates_the_record(wrong: dict[str, Any]) -> None:
    data = json.loads(Record.from_match(match(Usage(1, 1, 1))).line())
    data["turns"][0].update(wrong)
    with pytest.raises(BadRecord, match="turns is malformed"):
        Record.parse(json.dumps(data))


@pytest.mark.parametrize("wrong", [{"seconds": math.inf}, {"seconds": math.nan}, {"cost": -math.inf}])
def test_nonstandard_json_number_invalidates_the_record(wrong: dict[str, Any]) -> None:
    data = json.loads(Record.from_match(match(Usage(1, 1, 1))).line())
    data["turns"][0].update(wrong)
    with pytest.raises(BadRecord, match="is not a JSON number"):
        Record.parse(json.dumps(data))


def test_scores_sum_usage() -> None:
    score = Score()
    played = [match(Usage(10, 2, 0.5), Usage(20, 4, 1.5), seed=seed) for seed in range(3)]
    for one in played:
        score.add(one, 0)
    replies = [i % 2 for one in played for i, _ in enumerate([turn for turn in one.turns if turn.seat == 0])]
    tokens = [(2, 4)[which] for which in replies]
    assert score.prompt_tokens == sum((10, 20)[which] for which in replies)
    mean = score.tokens_per_move()
    assert mean.value == pytest.approx(sum(tokens) / len(tokens))
    assert mean.low < mean.value < mean.high
    assert score.seconds_per_move().value == pytest.approx(sum((0.5, 1.5)[w] for w in replies) / len(replies))
    usage = score.as_dict()["usage"]
    assert usage["prompt_tokens"] == score.prompt_tokens
    assert usage["completion_tokens"] == sum(tokens)
    assert usage["tokens_per_move"] == [mean.value, mean.low, mean.high]
    assert usage["seconds"] == pytest.approx(sum((0.5, 1.5)[w] for w in replies))
    assert usage["seconds_per_move"][0] == score.seconds_per_move().value


def test_scores_without_usage_have_none() -> None:
    score = Score()
    score.add(match(None), 0)
    assert "usage" not in score.as_dict()
    assert math.isnan(score.tokens_per_move().value)
    score.add(match(Usage(seconds=2.0)), 0)
    assert set(score.as_dict()["usage"]) == {"seconds", "seconds_per_move"}
