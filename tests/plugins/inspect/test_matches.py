"""Matches in Inspect match gymposium's, their records replay, and scores follow the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread, current_thread, main_thread

import pytest
from inspect_ai import Task
from inspect_ai.model import ChatMessage, ChatMessageSystem, ModelOutput
from inspect_ai.scorer import Score
from inspect_ai.solver import system_message
from inspect_ai.tool import ToolInfo
from inspect_ai.util import registry_info

from gymposium import Table, load_game
from gymposium.envs.table import OutsideSeat
from gymposium.games.protocol import Style
from gymposium.match import MatchJob
from gymposium.players.protocol import Ask, Reply, Usage
from gymposium.replies.reading import READERS
from gymposium_inspect import list_records, make_samples, match, outcome, play, report
from gymposium_inspect.playing import Contest
from gymposium_inspect.seats import MatchSeat

from .scripted import evaluated, legal, some_move, verified, without_times

GAMES = [
    ("tic_tac_toe", "mcts-10", "all", "move"),
    ("kuhn_poker", "mcts-10", "all", "tags"),  # hidden cards
    ("leduc_poker", "random", 1, "json"),
    ("goofspiel(num_cards=4)", "greedy", "all", "move"),  # simultaneous moves
    ("liars_dice", "random", 0, "move"),
    ("2048(max_tile=16)", "random", "all", "move"),  # one seat
]


def said(how: str, move: str) -> str:
    return {"move": move, "tags": f"<move>{move}</move>", "json": f'{{"move": "{move}"}}'}[how]


@pytest.mark.parametrize(("game", "opponent", "seat", "reply"), GAMES)
def test_matches_equal_local_play_and_scores_match_records(
    game: str, opponent: str, seat: int | str, reply: str, tmp_path: Path
) -> None:
    if game.startswith("2048"):
        pytest.importorskip("gymposium_2048")
    args = {"game": game, "opponent": opponent, "matches": 16, "seed": 3, "seat": seat, "reply": reply}
    log = evaluated("gymposium/match", lambda messages, tools: said(reply, legal(messages, tools)), args=args)
    found = verified(log, tmp_path)
    assert log.samples is not None
    assert [record.number for record in found] == list(range(16))
    for sample, record in zip(log.samples, found, strict=True):
        about = sample.metadata
        assert sample.scores is not None
        value = sample.scores["outcome"].value
        assert isinstance(value, dict)
        assert value["return"] == record.returns[about["seat"]]
        assert value.get(record.results[about["seat"]], 1.0) == 1.0
        assert value["forfeit"] == value["failed_replies"] == 0.0
        table = Table(
            game,
            seats=about["seat"],
            opponents=opponent,
            seed=about["seed"],
            player_seed=about["player_seed"],
            reply=reply,
            name="mockllm/model",
            match_id=record.id,
        )
        tokens = [turn["tokens"] for turn in record.turns if turn["seat"] == about["seat"]]
        while table.asked:
            text = said(reply, some_move(table.asked[0].text))
            table.answer(about["seat"], Reply(text, usage=Usage(*tokens.pop(0))))
        same = table.record()
        same.number = record.number
        assert without_times(record) == without_times(same)
    seats = [sample.metadata["seat"] for sample in log.samples]
    assert set(seats) == ({0, 1} if seat == "all" and "2048" not in game else {0 if seat == "all" else seat})
    seeds = [sample.metadata["seed"] for sample in log.samples]
    assert len(set(seeds)) == 16 // len(set(seats))
    assert log.results is not None
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert means["return"] == pytest.approx(sum(r.returns[s] for r, s in zip(found, seats, strict=True)) / 16)


def test_matches_are_deterministic_by_seed(tmp_path: Path) -> None:
    def play_with(seed: int) -> list[object]:
        args = {"game": "leduc_poker", "opponent": "random", "matches": 16, "seed": seed}
        return [without_times(record) for record in verified(evaluated("gymposium/match", args=args), tmp_path)]

    first = play_with(7)
    assert play_with(7) == first
    assert play_with(8) != first


def test_components_are_registered_under_gymposium() -> None:
    log = evaluated("gymposium/match", args={"game": "tic_tac_toe", "matches": 2})
    assert log.eval.task == "gymposium/match"
    assert [step.solver for step in log.plan.steps] == ["gymposium/play"]
    scorers = [registry_info(scorer).name for scorer in (outcome(), report())]
    assert scorers == ["gymposium/outcome", "gymposium/report"]


@pytest.mark.parametrize("slow", [False, True])
def test_slow_steps_run_in_threads(slow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that takes longer than `QUICK` is the last one in the thread of the event loop."""
    monkeypatch.setattr("gymposium_inspect.playing.QUICK", -1.0 if slow else 1e9)
    threads: list[Thread] = []
    begin = Contest.begin

    def noted(self: Contest, job: MatchJob) -> Table:
        threads.append(current_thread())
        return begin(self, job)

    monkeypatch.setattr(Contest, "begin", noted)
    evaluated("gymposium/match", args={"game": "tic_tac_toe", "matches": 4}, max_samples=1)
    here = [thread is main_thread() for thread in threads]
    assert here == [True, not slow, not slow, not slow]


class PickyPlayer:
    """A player that raises in the matches of some seeds."""

    name = "picky"
    reader = READERS["move"]
    style: Style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        if any(ask.seed == 13 for ask in asks):
            raise ValueError("not this one")
        return [Reply((ask.legal_moves or [""])[0]) for ask in asks]


def test_raising_opponent_fails_only_its_match() -> None:
    contest = Contest("random", "forfeit")
    game, model = load_game("tic_tac_toe"), OutsideSeat(READERS["move"], "full")
    tables, picky = [], PickyPlayer()
    for seed in (13, 14):
        job = contest.job(game, MatchSeat("tic_tac_toe", seed, seed, seed, 1), 1, model)
        tables.append(Table.from_job(replace(job, players=[picky, model])))
    bad, good = tables
    contest._waiting.append(bad)  # as if another thread waited with it
    contest.advance(good)
    assert [asked.seat for asked in good.asked] == [1]
    with pytest.raises(ValueError, match="not this one"):
        contest.advance(bad)


def test_conversation_follows_the_system_messages() -> None:
    seen: list[Sequence[ChatMessage]] = []

    def answer(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> str:
        seen.append([*messages])
        return legal(messages, tools)

    task = match("tic_tac_toe", matches=1, seat=1)
    log = evaluated(task, answer, solver=[system_message("You play to win."), play()])
    assert log.samples is not None
    messages = log.samples[0].messages
    assert isinstance(messages[0], ChatMessageSystem)
    assert {message.role for message in messages[1::2]} == {"user"}
    assert {message.role for message in messages[2::2]} == {"assistant"}
    assert [len(asked) for asked in seen] == [2 * n for n in range(1, len(seen) + 1)]
    first, later = messages[1].text, messages[3].text
    assert first.startswith("Tic-tac-toe on a 3 by 3 board.")
    assert later.startswith("You are o, to move."), "the rules stand in the first message only"


FAILURES = {
    "illegal": ModelOutput.from_content("m", "z9"),
    "unparsable": ModelOutput.from_content("m", "I would rather not."),
    "cut_off": ModelOutput.from_content("m", "b2", stop_reason="max_tokens"),
    "out_of_context": ModelOutput.from_content("m", "", stop_reason="model_length"),
}


@pytest.mark.parametrize("cause", FAILURES)
def test_forfeits_record_their_cause(cause: str, tmp_path: Path) -> None:
    args = {"game": "connect_four" if cause == "illegal" else "tic_tac_toe", "matches": 2}
    bad = FAILURES[cause]
    if cause == "illegal":
        bad = ModelOutput.from_content("m", "9")
    log = evaluated("gymposium/match", lambda messages, tools: bad.model_copy(deep=True), args=args)
    for record in verified(log, tmp_path):
        assert record.ending.seat is not None
    assert log.samples is not None
    for sample in log.samples:
        assert sample.scores is not None
        value = sample.scores["outcome"].value
        assert isinstance(value, dict)
        causes = {name: value[f"forfeit_{name}"] for name in FAILURES}
        assert causes == {**dict.fromkeys(FAILURES, 0.0), cause: 1.0}
        assert (value["forfeit"], value["loss"], value["return"]) == (1.0, 1.0, -1.0)
        assert "The model" in (sample.scores["outcome"].explanation or "")


def test_failed_replies_are_retried_with_the_reason(tmp_path: Path) -> None:
    def answer(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> str:
        return legal(messages, tools) if "could not be read" in messages[-1].text else "What?"

    args = {"game": "tic_tac_toe", "matches": 2, "on_illegal": "retry(1)"}
    log = evaluated("gymposium/match", answer, args=args)
    for record in verified(log, tmp_path):
        assert record.ending.kind == "over"
    assert log.results is not None
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert means["failed_replies"] >= 3
    assert means["forfeit"] == 0.0


def test_epochs_replay_deals_with_separate_records(tmp_path: Path) -> None:
    args = {"game": "kuhn_poker", "matches": 4}
    log = evaluated("gymposium/match", args=args, epochs=2)
    found = verified(log, tmp_path)
    assert len({record.id for record in found}) == 8
    assert len({record.seed for record in found}) == 2
    assert log.results is not None
    assert log.results.scores[0].scored_samples == 4, "epochs are averaged first"


def test_matches_stopped_by_inspect_limits_are_unscored() -> None:
    args = {"game": "connect_four", "matches": 2}
    log = evaluated("gymposium/match", args=args, message_limit=5)
    assert [*list_records(log.location)] == []
    assert log.results is not None
    assert log.samples is not None
    for sample in log.samples:
        assert sample.scores is not None
        assert isinstance(sample.scores["outcome"], Score)
        assert sample.scores["outcome"].reason == "unfinished"
    assert all(score.unscored_samples == 2 for score in log.results.scores)


def test_custom_datasets_work_with_the_solver() -> None:
    task = Task(
        dataset=make_samples("tic_tac_toe", matches=4, seat=1),
        solver=play("greedy", prompt="compact"),
        scorer=outcome(),
    )

    def compact(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> str:
        assert "Legal moves" not in messages[-1].text
        return "b2"

    log = evaluated(task, compact)
    assert log.samples is not None
    assert {sample.store["gymposium_record"]["players"][0] for sample in log.samples} == {"greedy"}
