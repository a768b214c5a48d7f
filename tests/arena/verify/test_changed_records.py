"""Verification accepts a played board and locates every change of a record."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from gymposium.match.ending import Ending

from .copies import Copy, put

BROKE_OFF = Ending("broke off", detail="ValueError: engine")


def test_untouched_board_agrees(copy: Copy) -> None:
    verification = copy.verify()
    assert (verification.findings, verification.notes, verification.results) == ([], [], "agree")
    assert (verification.matches, verification.planned) == (64, 64)
    players = {one.slug: one for one in verification.players}
    for name, one in players.items():
        assert one.replies > 0
        assert one.asked == one.same == (0 if name == "secret" else one.replies)
    assert players["secret"].describe_evidence() == "attested: cannot be repeated"
    assert players["random"].describe_evidence() == "all repeated"


@pytest.mark.parametrize(
    ("change", "about", "said"),
    [
        (put("events", 0, 1, "b9"), "record", "'b9'"),
        (put("turns", 0, "text", "b9"), "record", "'b9'"),
        (put("turns", 0, "reading", "illegal"), "record", "reply 0"),
        (lambda data: data["turns"].pop(), "record", "the replies end"),
        (lambda data: data["turns"].append(data["turns"][-1]), "record", "after the end"),
        (lambda data: data["events"].pop(), "record", ""),
        (put("returns", [0.5, -0.5]), "record", "returns: .* is recorded"),
        (lambda data: data["returns"].reverse(), "record", "returns: .* is recorded"),
        (lambda data: data["results"].reverse(), "record", "results: .* is recorded"),
        (put("penalties", {"0": 0.5}), "record", "penalties"),
        (put("reports", [{"score": 1.0}, {"score": 1.0}]), "record", "reports"),
        (put("ending", asdict(Ending("no legal move", 0))), "record", "forfeit"),
        (put("ending", asdict(Ending("timed out", 1))), "record", "ending: .* is recorded, but the replay gives"),
        (put("ending", asdict(Ending("out of context", 0))), "record", "ending: .* is recorded, but the replay gives"),
        (
            put("ending", asdict(Ending("crashed", 0, "ValueError"))),
            "record",
            "ending: .* is recorded, but the replay gives",
        ),
        (
            put("ending", asdict(BROKE_OFF)),
            "schedule",
            "1 of 4 matches are missing: .*; some broke off",
        ),
        (put("seed", 7), "record", r"seed is 7, but the schedule has \d+"),
        (put("player_seed", 7), "record", r"player_seed is 7, but the schedule has \d+"),
        (lambda data: data["players"].reverse(), "record", "players is"),
        (put("players", ["random", "mcts-5000"]), "record", "players is"),
        (put("on_illegal", "retry(2)"), "record", "on_illegal is 'retry"),
        (put("opening", 2), "record", "opening is 2, but the schedule has 0"),
        (put("game", "kuhn_poker"), "record", "game is 'kuhn_poker'"),
        (put("game_version", 1), "record", "made with version 1 of tic_tac_toe, but here it has version 0"),
        (put("prompts", 0, "hash", "0" * 12), "record", "prompts"),
        (put("prompts", 1, "version", 0), "record", "prompts"),
        (put("id", "small/tic_tac_toe/random--mcts-5/9-0"), "schedule", "the schedule has no such match"),
        (put("format", "gymposium-match-2"), "file", "not a match record"),
        (put("events", 0), "file", "fields are missing or invalid"),
    ],
)
def test_changed_records_are_detected(change: Callable[[Any], object], about: str, said: str, copy: Copy) -> None:
    file = copy.file("tic_tac_toe", "random", "mcts-5")
    copy.edit(file, change, line=1)
    findings = [one for one in copy.findings(only="mcts-5") if one.about == about]
    assert findings
    assert findings[0].where.startswith("entries/mcts-5/matches/tic_tac_toe/random--mcts-5.jsonl")
    assert re.search(said, findings[0].what)


def test_findings_give_the_correct_location(copy: Copy) -> None:
    file = copy.file("kuhn_poker", "random", "greedy")
    name: list[str] = []
    copy.edit(file, lambda data: (name.append(data["id"]), data["returns"].reverse()), line=2)
    [finding] = copy.findings(only="greedy")
    assert str(finding).startswith(
        f"entries/greedy/matches/kuhn_poker/random--greedy.jsonl:3 (match {name[0]}): returns"
    )


def test_chance_events_are_replayed(copy: Copy) -> None:
    """The same cards dealt in another order, which would be legal."""
    file = copy.file("kuhn_poker", "random", "mcts-5")
    copy.edit(file, lambda data: data["events"].insert(0, data["events"].pop(1)))
    [finding] = copy.findings(only="mcts-5")
    assert finding.about == "record"
    assert "gives 'Deal:" in finding.what


MOVES = ["a1", "b2", "bet", "pass", "move", "illegal"]


@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_change_of_a_record_is_detected(data: st.DataObject, played: Path, tmp_path: Path) -> None:
    """Any leaf of any record of players whose moves follow from their seeds, except the versions of software."""
    shutil.rmtree(tmp_path / "board", ignore_errors=True)
    shutil.copytree(played, tmp_path / "board")
    copy = Copy(tmp_path / "board")
    game = data.draw(st.sampled_from(["tic_tac_toe", "kuhn_poker"]))

    def change(record: Any) -> None:
        way = data.draw(st.sampled_from([leaf for leaf in leaves(record) if leaf[0] != "versions"]))
        for key in way[:-1]:
            record = record[key]
        was = record[way[-1]]
        new = st.one_of(st.none(), st.integers(-2, 9), st.text(max_size=3), st.sampled_from(MOVES))
        record[way[-1]] = data.draw(new.filter(lambda value: value != was))

    copy.edit(copy.file(game, "random", "greedy"), change, line=data.draw(st.integers(0, 3)))
    assert copy.findings(only="greedy")


def leaves(data: Any) -> list[tuple[Any, ...]]:
    """The paths of keys to all values that are neither lists nor objects."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    return [()] if inside is None else [(key, *way) for key, below in inside for way in leaves(below)]
