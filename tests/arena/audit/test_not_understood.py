"""Files that are not logs, and logs of games that cannot be replayed, are reported with a reason."""

from __future__ import annotations

from pathlib import Path

import pyspiel
import pytest

from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.registry import load_game
from gymposium_arena.audit import audit_logs
from gymposium_arena.audit.logged_match import LoggedMatch, NeedsIsolation


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "the file is empty"),
        ("[1]", "it is JSON, but not an object"),
        (
            '{"hello": 1}',
            "unknown log format (known: inspect_ai, textarena, openspiel, kaggle-environments, atif)",
        ),
        ('{"format": "gymposium-match-4"}', "this is a gymposium record: check it with gymposium verify"),
        ('{"version": 2, "eval": {}, "status": "success"}', "the log has no samples"),
        ("[" * 100_000, "not JSON, or truncated"),
        (
            '{"id": 1, "epoch": 1, "messages": [], "store": {}}',
            "its store has no gymposium_record: gymposium-inspect did not finish this sample",
        ),
        (
            '{"format": "textarena-episode-1", "env": "Breakthrough-v0", "num_players": 2}',
            "unsupported environment 'Breakthrough-v0' (supported: TicTacToe-v0",
        ),
        (
            '{"header": {"game_string": "bargaining(instances_file=/etc/passwd)"}, "transitions": []}',
            "which needs your permission: its parameter instances_file is text, which a file may not give",
        ),
        ('{"header": {"game_string": "no_such_game"}, "transitions": []}', "no_such_game"),
        (
            '{"header": {"game_string": "negotiation"}, "transitions": []}',
            "OpenSpiel's negotiation draws chance internally, so its matches cannot be replayed",
        ),
        ('{"name": "halite", "steps": [[]], "statuses": [], "configuration": {}}', "its steps are not lists"),
    ],
)
def test_unreadable_logs_are_reported(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(content, encoding="utf-8")
    audit = audit_logs([path])
    ((where, problem),) = audit.problems
    assert where.startswith(str(path))
    assert says in problem
    assert audit.records == []


@pytest.mark.parametrize("agents", [["ann"], ["ann", "ben", "cat"]])
def test_wrong_number_of_agents_is_reported(tmp_path: Path, agents: list[str]) -> None:
    path = tmp_path / "log.json"
    path.write_text(pyspiel.Trajectory(pyspiel.load_game("tic_tac_toe").new_initial_state()).to_string())
    [(_, problem)] = audit_logs([path], agents=agents).problems
    assert f"named ({', '.join(agents)}), but tic_tac_toe has 2 seats" in problem


def test_unsafe_engines_are_replayed_in_another_process() -> None:
    game = load_game("openspiel:kuhn_poker")
    assert isinstance(game, OpenSpielGame)
    with pytest.raises(NeedsIsolation):
        LoggedMatch(game, "m", ["a", "b"])
