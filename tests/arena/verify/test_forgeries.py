"""Consistent forgeries of records are detected by rerunning players."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gymposium.match import Answer, Guard, PlayerFailure, play
from gymposium.match.watchdog import Watchdog
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records import Record, find_first_difference
from gymposium_arena.board import Board
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.schedule import make_jobs
from gymposium_arena.suite import parse_suite

from ..playing import play_board
from .copies import Copy


class LyingPlayer:
    """A player with another's name that plays another move at its first turn of each match."""

    def __init__(self, player: Player) -> None:
        self._player, self.name, self.reader, self.style = player, player.name, player.reader, player.style

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies = [*self._player.act(asks)]
        for number, ask in enumerate(asks):
            if ask.turn == 0:
                legal = ask.legal_moves or []
                replies[number] = Reply(legal[(legal.index(replies[number].text) + 1) % len(legal)])
        return replies


class SabotagingGuard(Guard):
    """A guard that replaces the second answer of a player by a failure."""

    def __init__(self, name: str, failure: Answer) -> None:
        self._name, self._failure = name, failure

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        answers = super().answers(player, asks)
        return [
            self._failure if player.name == self._name and ask.turn == 1 else one for ask, one in zip(asks, answers)
        ]


def forge(copy: Copy, game: str, *players: str, liar: str = "-", failing: str = "-", failure: Answer = None) -> str:
    """Replace a lineup's first match by one with a player that is not what it is called. Returns the place of the
    record as findings name it."""
    lineup = copy.lineup(game, *players)
    job = next(make_jobs(lineup, [make_player(name) for name in lineup.players]))
    job = replace(job, players=[LyingPlayer(one) if one.name.startswith(liar) else one for one in job.players])
    [played] = play([job], guard=SabotagingGuard(failing, failure))
    record = Record.from_match(played)
    assert find_first_difference(record) is None
    file = copy.board.matches_file(lineup)
    copy.lines(file, lambda lines: lines.__setitem__(0, record.line()))
    return f"{file.relative_to(copy.path)}:1 (match {record.id})"


@pytest.mark.parametrize("players", [("random", "mcts-5"), ("random", "greedy"), ("mcts-5", "weighted")])
@pytest.mark.parametrize("liar", [0, 1])
@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker"])
def test_forged_moves_are_detected(game: str, players: tuple[str, str], liar: int, copy: Copy) -> None:
    where = forge(copy, game, *players, liar=players[liar])
    [finding] = copy.findings(only=copy.lineup(game, *players).slugs[-1])
    assert (finding.about, finding.where) == ("reply", where)
    assert re.match(rf"seat \d \({players[liar]}.*\) replies '\S+', but asked again replies '\S+'", finding.what)


def test_unsampled_search_is_noted_as_unchecked(copy: Copy) -> None:
    forge(copy, "tic_tac_toe", "random", "mcts-5", liar="mcts-5")
    verification = copy.verify(only="mcts-5", sample=0)
    assert verification.findings == []
    [player] = [one for one in verification.players if one.player == "mcts-5"]
    assert (player.asked, player.describe_evidence()) == (
        0,
        "follow from its seed; not repeated (--sample N repeats some)",
    )


def test_sampling_of_searches_is_unpredictable(copy: Copy) -> None:
    forge(copy, "tic_tac_toe", "random", "mcts-5", liar="mcts-5")
    detected = [bool(copy.findings(only="mcts-5", sample=1, seed=seed)) for seed in range(12)]
    assert {*detected} == {True, False}
    assert detected == [bool(copy.findings(only="mcts-5", sample=1, seed=seed)) for seed in range(12)]


def test_unrepeatable_moves_are_called_attested(copy: Copy) -> None:
    forge(copy, "tic_tac_toe", "random", "secret", liar="secret")
    write_results(copy.board, compute_results(copy.board))
    verification = copy.verify()
    [player] = [one for one in verification.players if one.player == "secret"]
    assert player.describe_evidence() == "attested: cannot be repeated"
    assert verification.findings == []


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (PlayerFailure("ZeroDivisionError: forged", own=True), "is said to have crashed, but asked again replies"),
        (
            PlayerFailure("its process ended (exit code 3)", own=True),
            "is said to have crashed, but asked again replies",
        ),
        (None, "is said not to have answered in time, but asked again replies"),
        (Reply("", "context"), "has no context left to reply, but asked again replies"),
        (Reply("z9"), "replies 'z9', but asked again replies"),
        (Reply("a1", "length"), "replies 'a1', cut off, but asked again replies"),
    ],
)
@pytest.mark.parametrize("who", ["random", "mcts-5"])
def test_forged_failures_are_detected(who: str, failure: Answer, said: str, copy: Copy) -> None:
    where = forge(copy, "tic_tac_toe", "random", "mcts-5", failing=who, failure=failure)
    [finding] = copy.findings(only="mcts-5")
    assert finding.about == "reply"
    assert where.partition("(")[2] in finding.where
    assert f"({who}) {said}" in finding.what


def test_search_failures_are_always_checked(copy: Copy) -> None:
    forge(copy, "tic_tac_toe", "random", "mcts-5", failing="mcts-5", failure=PlayerFailure("ValueError", own=True))
    assert copy.findings(only="mcts-5", sample=1, seed=0)
    assert copy.findings(only="mcts-5", sample=1, seed=5)
    [player] = [one for one in copy.verify(only="mcts-5", sample=0).players if one.player == "mcts-5"]
    assert player.unchecked_failures == 1


@pytest.mark.slow
def test_real_failures_are_confirmed(plugin: Path, tmp_path: Path) -> None:
    """Players that raise, hang, or end their process, each alone at blackjack."""
    names = [f"failing-{how}" for how in ("raises", "hangs", "dies")]
    head = f'name = "failing"\ngroups = 2\nwatchdog = 1.0\nplayers = {json.dumps(names)}\n'
    board = Board.open_or_create(tmp_path / "board", parse_suite(f'{head}[[games]]\nname = "blackjack"\n'))
    tournament = play_board(board, 2)
    assert tournament.complete
    assert tournament.faults["failing-hangs", "in blackjack it did not answer in time"] > 0
    verified = Copy(board.path).verify(sample=1)
    assert (verified.findings, verified.results) == ([], "absent")
    assert [one.unchecked_failures for one in verified.players] == [0, 0, 0]
