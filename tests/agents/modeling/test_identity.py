"""Language models on a leaderboard are identified by their files, and their replies are repeatable."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gymposium.games.registry import load_game
from gymposium.match import Guard, play
from gymposium.players.grammar import make_player
from gymposium.players.identity import digest_file
from gymposium.players.protocol import Ask, MatchContext, Reply, Usage, get_repeats
from gymposium.plugins.allowed import VARIABLE
from gymposium.records import RecordLine
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.tokens import Sampling, TokenRequest, TurnTokens
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_agents.players.player import LanguageModelPlayer, make_engine_player
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry, PlayerMismatch, make_entered_player
from gymposium_arena.schedule import make_jobs, make_lineups
from gymposium_arena.suite import parse_suite
from gymposium_arena.tournament import MatchesFile
from gymposium_arena.verify import verify_board

SUITE = 'name = "lm"\nplayers = ["random"]\ngroups = 2\n[[games]]\nname = "kuhn_poker"\n'


@pytest.fixture(scope="module", autouse=True)
def allowed() -> Iterator[None]:
    """The user allows entries to name models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "lm:*\napi:*")
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of board, model and adapter."""
    return tmp_path_factory.mktemp("identity")


@pytest.fixture(scope="module")
def board(model_directory: Path, adapter_directory: Path, folder: Path) -> Board:
    """A board with a model and its adapter, both sampling."""
    model, adapter = folder / "model", folder / "adapter"
    shutil.copytree(model_directory, model)
    shutil.copytree(adapter_directory, adapter)
    found = Board.open_or_create(folder / "board", parse_suite(SUITE))
    found.add([f"lm:{model}@{adapter}?temperature=0.7&max_tokens=4&context=full"], 7)
    entries = {entry.player: entry for entry in found.entries()}
    for lineup in make_lineups(found.suite, [*entries.values()]):
        planned = [*make_jobs(lineup, [make_entered_player(entries[player]) for player in lineup.players])]
        places = {job.id: place for place, job in enumerate(planned)}
        played = sorted(play(planned, guard=Guard()), key=lambda one: places[one.job.id])
        with MatchesFile(found, lineup) as file:
            file.append([*map(RecordLine.from_match, played)])
    return found


def find_entry(board: Board) -> Entry:
    return board.entries()[-1]


def test_identity_includes_files_and_settings(board: Board, folder: Path) -> None:
    entry = find_entry(board)
    for part, names in (
        ("model", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]),
        ("adapter", ["adapter_config.json", "adapter_model.safetensors"]),
    ):
        for name in names:
            file = folder / part / name
            assert entry.revision.files[str(file)] == digest_file(file)
    assert entry.revision.facts["engine"] == "transformers"
    assert entry.revision.code["distribution"] == "gymposium-agents"
    assert entry.decoding == {"temperature": 0.7, "max_tokens": 4, "context": "full", "thinking": False}
    assert (entry.prompt.style, entry.repeats, entry.deterministic) == ("compact", "up_to_rounding", False)


def test_rerun_reproduces_replies_exactly(board: Board) -> None:
    silent = verify_board(board)
    assert silent.findings == []
    [told] = [one for one in silent.players if one.player.startswith("lm:")]
    assert (told.asked, told.describe_evidence()) == (0, "follow from its seed; not repeated (--rerun N repeats some)")
    asked = verify_board(board, rerun=4)
    assert asked.findings == []
    [told] = [one for one in asked.players if one.player.startswith("lm:")]
    assert told.asked == told.same == told.replies > 0


def test_altered_replies_are_reported_with_tokens(board: Board) -> None:
    with add_recorded_token(board) as turn:
        assert verify_board(board).findings == [], "nobody asked it"
        [finding] = verify_board(board, rerun=4).findings
    assert finding.about == "reply"
    assert f"{turn['tokens'][1]} out" in finding.what
    assert f"but asked again replies {turn['text']!r}" in finding.what


def test_changed_weights_or_tokenizers_are_detected(board: Board, folder: Path) -> None:
    entry = find_entry(board)
    for name in ("model/model.safetensors", "adapter/adapter_model.safetensors", "model/tokenizer.json"):
        file = folder / name
        with restore_file(file):
            whole = file.read_bytes()
            file.write_bytes(whole + b"\n" if file.suffix == ".json" else whole[:-1] + bytes([whole[-1] ^ 1]))
            [told] = verify_board(board).findings
            assert (told.about, str(file) in told.what) == ("entry", True)
            assert "has changed since it was entered: its digest is sha256:" in told.what
    with restore_file(file):
        file.write_bytes(whole + b"\n")
        with pytest.raises(PlayerMismatch, match="differs from its entry: revision files"):
            make_entered_player(entry)


@contextmanager
def restore_file(file: Path) -> Iterator[None]:
    """The file is restored at the end."""
    before = file.read_bytes()
    try:
        yield
    finally:
        file.write_bytes(before)


def test_service_identity_is_model_and_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "sk-canary-77aa02")
    player = make_player("api:some/model?base_url=http://127.0.0.1:9/v1&key=CANARY&temperature=0.5")
    assert get_repeats(player) is None
    identity = player.identity()  # type: ignore[attr-defined]
    assert identity.facts == {"model": "some/model", "base_url": "http://127.0.0.1:9/v1"}
    assert identity.decoding == {"temperature": 0.5, "max_tokens": 512, "context": "state"}
    assert "sk-canary" not in repr(identity)


def test_engine_player_identity_names_its_policy(tiny: LoadedModel) -> None:
    player = make_engine_player("lm:tiny", tiny.engine(), tiny.chat, PlayerSettings())
    assert player.identity().facts == {"policy": "base"}


@contextmanager
def add_recorded_token(board: Board) -> Iterator[dict[str, Any]]:
    """The first reply of the model is recorded with a token more than it wrote. Its turn is yielded."""
    [file] = board.path.glob("entries/lm-*/matches/*/*.jsonl")
    with restore_file(file):
        lines = file.read_text().splitlines()
        data = json.loads(lines[0])
        turn = next(turn for turn in data["turns"] if "tokens" in turn)
        turn["tokens"][1] += 1
        file.write_text("\n".join([json.dumps(data, separators=(",", ":")), *lines[1:]]) + "\n")
        yield turn


@dataclass
class Tie:
    """A greedy player, its reply to an ask, and another reply that begins with a token of the same probability."""

    player: LanguageModelPlayer
    ask: Ask
    given: Reply
    other: Reply
    of_other: torch.Tensor
    """The output weights of that token, which a test may change."""


@pytest.fixture
def tie(model_directory: Path, tmp_path: Path) -> Tie:
    shutil.copytree(model_directory, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    settings = PlayerSettings("compact", "move", max_tokens=3, temperature=0.0)
    player = make_engine_player("lm:greedy", loaded.engine(), loaded.chat, settings)
    ask = MatchContext(load_game("kuhn_poker").new(3), "match", 3).ask(0)
    [given] = player.act([ask])
    assert isinstance(given.trace, TurnTokens)
    prompt, (first, *_) = given.trace.prompt, given.trace.completion.ids
    weights = loaded.model.get_output_embeddings().weight.data
    for token in {*range(first + 1, len(weights))} - {*prompt}:  # of two that are alike, the first is written
        before, weights[token] = weights[token].clone(), weights[first]
        [rest] = loaded.engine().generate([TokenRequest((*prompt, token), random.Random(0))], Sampling(0.0, 2))
        ids = (token, *rest.ids)
        other = Reply(loaded.chat.read(ids), rest.finish_reason, usage=Usage(len(prompt), len(ids)))
        if loaded.chat.reply(other.text)[:3] == ids:
            return Tie(player, ask, player.act([ask])[0], other, weights[token])
        weights[token] = before
    raise AssertionError("no token is written as it is read")


def test_equally_likely_replies_are_a_tie(tie: Tie) -> None:
    assert tie.given.text != tie.other.text
    assert tie.player.is_tie(tie.ask, tie.given, tie.other)
    tie.of_other *= 1.0 - 1e-3
    assert not tie.player.is_tie(tie.ask, tie.given, tie.other)


def test_different_tokens_or_counts_are_not_a_tie(tie: Tie) -> None:
    assert tie.other.usage is not None
    for changed in (
        tie.given,
        replace(tie.other, text=tie.other.text + "x"),
        replace(tie.other, text=""),
        replace(tie.other, usage=None),
        replace(tie.other, usage=replace(tie.other.usage, prompt_tokens=1)),
        replace(tie.other, usage=replace(tie.other.usage, cost=0.1)),
        replace(tie.other, finish_reason="length" if tie.other.finish_reason == "stop" else "stop"),
    ):
        assert not tie.player.is_tie(tie.ask, tie.given, changed)
    tie.player.sampling = Sampling(1.0, 3)
    assert not tie.player.is_tie(tie.ask, tie.given, tie.other)


def test_verification_counts_ties_separately(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LanguageModelPlayer, "is_tie", lambda self, ask, given, other: other.text == given.text)
    with add_recorded_token(board):
        found = verify_board(board, rerun=4)
    [told] = [one for one in found.players if one.player.startswith("lm:")]
    assert (found.findings, told.tied, told.asked) == ([], 1, told.same + 1)
