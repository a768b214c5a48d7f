"""The players `mail-expert` and `mail-expert-shuffled` find answers using only the tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gymposium.errors import GymposiumError
from gymposium.match import MatchJob, MatchResult, play
from gymposium.players.protocol import MatchContext
from gymposium.tasks import ToolGame
from gymposium.tasks.tools import Call, format_calls
from gymposium_worlds.mail.expert import MailExpert, make_shuffled_expert

Maker = Callable[..., ToolGame]


def played(game: ToolGame, seeds: range, player: Callable[[], MailExpert] = MailExpert) -> list[MatchResult]:
    return list(play([MatchJob(f"match-{seed}", game, [player()], seed) for seed in seeds]))


def parse_calls(result: MatchResult) -> list[str]:
    return [event.move for event in result.events if event.seat == 0]


@pytest.mark.parametrize(("size", "split"), [(20, "train"), (60, "test"), (200, "train")])
def test_expert_solves_every_task(size: int, split: str, mail: Maker) -> None:
    results = played(mail(mails=size, split=split), range(30))
    for result in results:
        assert result.returns == (1.0,), result.events[0].move
        [report] = result.reports
        assert report["exact"] == report["sources"] == report["found"] == report["read"] == 1.0
        assert report["calls"] <= 10
        assert report["invalid_calls"] == 0
    assert {json.loads(result.events[0].move)["task"]["kind"] for result in results} == {
        "look_up", "newest", "count", "first", "absent",
    }  # fmt: skip


def test_expert_is_deterministic(mail: Maker) -> None:
    game = mail(mails=60)
    assert [one.events for one in played(game, range(5))] == [one.events for one in played(game, range(5))]


def test_shuffled_expert_reorders_reads_and_solves_look_ups(mail: Maker) -> None:
    game = mail(mails=60, kinds="look_up")
    results = played(game, range(20), make_shuffled_expert)
    assert [result.returns for result in results] == [(1.0,)] * 20
    again, in_order = played(game, range(20), make_shuffled_expert), played(game, range(20))
    assert [parse_calls(result) for result in results] == [parse_calls(result) for result in again]
    assert [parse_calls(result)[1] for result in results] != [parse_calls(result)[1] for result in in_order]


def test_expert_refuses_what_it_cannot_play(mail: Maker, tmp_path: Path) -> None:
    inbox, questions = tmp_path / "inbox.jsonl", tmp_path / "questions.jsonl"
    one = {"message_id": "a", "date": "2001-05-14", "from": "x@y.example", "subject": "", "body": ""}
    inbox.write_text(json.dumps(one), encoding="utf-8")
    questions.write_text(json.dumps({"question": "Why?", "answer": "So", "message_ids": ["a"]}), encoding="utf-8")
    with pytest.raises(GymposiumError, match="answers only questions about generated mailboxes"):
        played(mail(inbox=str(inbox), questions=str(questions)), range(1))


def test_expert_recovers_from_a_failed_call(mail: Maker) -> None:
    """As the teacher of a model, it is asked after the model's calls."""
    match = mail(kinds="look_up").new(1)
    context, expert = MatchContext(match, "match", 0), MailExpert()
    expert.act([context.ask(0)])
    match.apply({0: format_calls([Call("search_inbox", {"keyword": "x"})])})
    while match.to_move():
        [reply] = expert.act([context.ask(0)])
        match.apply({0: reply.text})
    assert match.returns() == (1.0,)
