"""A teacher is asked about recorded matches as in play."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
from tests.gymposium.test_records import ClumsyPlayer

from gymposium import load_game, make_player
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Reply
from gymposium.players.teaching import AskTeacher, ask_teacher
from gymposium.records import Record, recommend_in_records

Seen = tuple[str, int, str, object]


class WatchingTeacher:
    """A teacher that notes what it can see at each ask."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.calls = 0
        self._teach: AskTeacher = partial(ask_teacher, make_player("mcts-20"))

    def __call__(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        self.calls += bool(asks)
        self.seen += [(ask.key, ask.seat, ask.view, ask.sampler.log) for ask in asks]
        return self._teach(asks)


class TaughtPlayer(ClumsyPlayer):
    """A clumsy player that asks a teacher at each decision."""

    def __init__(self, share: float) -> None:
        super().__init__(share)
        self.teacher = WatchingTeacher()
        self.recommended: dict[tuple[str, int], list[MoveDistribution]] = {}

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        decisions = [ask for ask in asks if ask.reason is None]
        for ask, label in zip(decisions, self.teacher(decisions), strict=True):
            self.recommended.setdefault((ask.key, ask.seat), []).append(label)
        return super().act(asks)


@pytest.mark.parametrize("policy", ["forfeit", "random", "retry(2)"])
@pytest.mark.parametrize("game", ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)", "phantom_ttt"])
def test_teacher_sees_and_recommends_the_same_as_in_play(game: str, policy: str) -> None:
    player, on_illegal = TaughtPlayer(0.1), FailurePolicy.parse(policy)
    jobs = (MatchJob(f"m{i}", load_game(game), [player] * 2, i, on_illegal=on_illegal, opening=i % 3) for i in range(6))
    records = [Record.parse(Record.from_match(played).line()) for played in play(jobs)]
    teacher = WatchingTeacher()
    assert recommend_in_records(teacher, records, player.recommended.keys()) == player.recommended
    assert sorted(teacher.seen, key=repr) == sorted(player.teacher.seen, key=repr)


def test_teacher_is_asked_about_the_given_seats_in_few_calls() -> None:
    game, player = load_game("tic_tac_toe"), make_player("random")
    records = [Record.from_match(one) for one in play(MatchJob(f"m{i}", game, [player] * 2, i) for i in range(20))]
    teacher, matches = WatchingTeacher(), list[None]()
    seats = [(record.id, 1) for record in records[:10]]
    found = recommend_in_records(teacher, records, seats, lambda: matches.append(None))
    assert [*found] == seats
    assert {(key, seat) for key, seat, *_ in teacher.seen} == {*seats}
    assert teacher.calls == max(map(len, found.values())) <= 4
    assert len(matches) == 20
