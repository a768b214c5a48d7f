"""Fine-tuning in epochs: what is imitated and kept, and `gymposium sft`."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner

from gymposium.cli.main import app
from gymposium.errors import BadOption
from gymposium.players.grammar import make_player
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config import ColdStart, Optimizer
from gymposium_train.config.directory import RunDirectory
from gymposium_train.learner import LocalLearner
from gymposium_train.learner.protocol import Demonstration, ImitationScore, group_conversations
from gymposium_train.run.api import train
from gymposium_train.run.fine_tuning import plan_epochs, split_conversations
from gymposium_train.util.progress import Interruption

CHATS = [
    [
        {"role": "user", "content": f"{a} plus {b}"},
        {"role": "assistant", "content": f"{a + b}"},
        *([{"role": "user", "content": "again"}, {"role": "assistant", "content": f"{a + b}"}] if b == 3 else ()),
    ]
    for a in range(8)
    for b in range(5)
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "chats.jsonl"
    file.write_text("".join(json.dumps({"messages": chat}) + "\n" for chat in CHATS))
    return file


def make_command(data: Path, model: Path, out: Path, *more: str, tune: str = "full", rate: float = 0.003) -> list[str]:
    options = ["--model", str(model), "--tune", tune, "--learning-rate", str(rate), "--out", str(out)]
    return ["sft", str(data), *options, *more]


def sft(*arguments: Any, **options: Any) -> RunDirectory:
    done = CliRunner().invoke(app, make_command(*arguments, **options), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return RunDirectory(arguments[2])


def read_epochs(run: RunDirectory) -> list[dict[str, Any]]:
    return [entry for entry in run.metrics() if "train/sft_validation_loss" in entry]


@st.composite
def turns(draw: st.DrawFn) -> list[Demonstration]:
    """Conversations of one to three replies, each with its own first token."""
    lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=12))
    found: list[Demonstration] = []
    for number, length in enumerate(lengths):
        prompt: tuple[int, ...] = (number,)
        for _ in range(length):
            found.append(Demonstration(prompt, (99,)))
            prompt = (*prompt, 99, 98)
    return found


@given(turns(), st.integers(1, 5), st.sampled_from([0.0, 0.01, 0.3, 0.6]), st.integers(0, 99))
@settings(max_examples=60)
def test_epochs_imitate_each_training_conversation_once(
    demonstrations: list[Demonstration], batch: int, share: float, seed: int
) -> None:
    chosen = ColdStart(batch=batch, epochs=2, validation=share)
    count = len(group_conversations(demonstrations))
    if share and max(1, round(share * count)) == count:
        with pytest.raises(BadOption, match=f"holds out all of {count} conversation"):
            split_conversations(demonstrations, chosen, seed)
        return
    imitated, held_out = split_conversations(demonstrations, chosen, seed)
    assert bool(held_out) == bool(share)
    first, second = plan_epochs(imitated, chosen, seed)
    for epoch in (first, second):
        taken = [one for some in epoch for one in some]
        assert Counter(taken) == Counter(demonstrations) - Counter(held_out)
        assert all(len(some) >= batch for some in epoch[:-1])
        assert all(len(group_conversations(some)) == len({one.prompt[0] for one in some}) for some in epoch)
    assert plan_epochs(imitated, chosen, seed) == [first, second]


def test_loss_and_accuracy_match_the_model(tiny: LoadedModel) -> None:
    learner = LocalLearner(tiny.model, tiny.pad, Optimizer(token_budget=40))
    demonstrations = [Demonstration((5, 6, n), (7, 8 + n)) for n in range(9)]
    demonstrations += [Demonstration((5, 6, n, 7, 8 + n, 4), (9,)) for n in range(1)]  # the first one continues
    losses, hits = [], []
    for one in demonstrations:
        ids = torch.tensor([[*one.prompt, *one.completion]])
        with torch.no_grad():
            logits = tiny.model(input_ids=ids).logits[0, len(one.prompt) - 1 : -1].float()
        wanted = torch.tensor(one.completion)
        losses += (-logits.log_softmax(-1).gather(-1, wanted[:, None])).flatten().tolist()
        hits += (logits.argmax(-1) == wanted).tolist()
    loss, accuracy = learner.validate(demonstrations)
    assert loss == pytest.approx(sum(losses) / len(losses), abs=1e-5)
    assert accuracy == pytest.approx(sum(hits) / len(hits))


def test_result_is_a_player_with_the_best_epoch(data: Path, model_directory: Path, tmp_path: Path) -> None:
    more = ("--epochs", "4", "--validation", "0.2")
    run = sft(data, model_directory, tmp_path / "run", *more, rate=0.1)  # so high that later epochs may be worse
    measured = read_epochs(run)
    assert len(measured) == 4
    best = min(measured, key=lambda entry: entry["train/sft_validation_loss"])
    assert run.results()["validation"] == {
        "loss": best["train/sft_validation_loss"],
        "token_accuracy": best["train/sft_token_accuracy"],
    }
    assert isinstance(make_player(f"lm:{run.cold_start}"), LanguageModelPlayer)
    again = sft(data, model_directory, tmp_path / "again", *more, rate=0.1)
    assert (run.cold_start / "model.safetensors").read_bytes() == (again.cold_start / "model.safetensors").read_bytes()
    assert not run.fine_tuning.exists()


@pytest.mark.parametrize(
    ("tune", "stop_at"),
    [
        ("lora", 7),
        ("full", 1),
        pytest.param("lora", 1, marks=pytest.mark.slow),
        pytest.param("lora", 8, marks=pytest.mark.slow),
        pytest.param("full", 7, marks=pytest.mark.slow),
        pytest.param("full", 8, marks=pytest.mark.slow),
    ],
)
def test_stopped_run_resumes_to_the_same_model(
    data: Path, model_directory: Path, tmp_path: Path, tune: str, stop_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = ("--epochs", "3", "--validation", "0.1", "cold_start.batch=6")
    whole = sft(data, model_directory, tmp_path / "whole", *more, tune=tune)
    steps = 0

    def stop(self: Interruption) -> None:
        nonlocal steps
        steps += 1
        if steps == stop_at:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Interruption, "stop_here", stop)
        stopped = CliRunner().invoke(app, make_command(data, model_directory, tmp_path / "run", *more, tune=tune))
        assert stopped.exit_code == 130
    resume = ["--allow", str(data), "sft", "--resume", str(tmp_path / "run")]
    resumed = CliRunner().invoke(app, resume, catch_exceptions=False)
    assert resumed.exit_code == 0, resumed.output
    run = RunDirectory(tmp_path / "run")
    for file in ("model.safetensors", "player.json"):
        assert (run.cold_start / file).read_bytes() == (whole.cold_start / file).read_bytes()
    assert read_epochs(run) == read_epochs(whole)


def test_a_damaged_checkpoint_state_is_an_error(
    data: Path, model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self: Interruption) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Interruption, "stop_here", stop)
        CliRunner().invoke(app, make_command(data, model_directory, tmp_path / "run"))
    [checkpoint] = RunDirectory(tmp_path / "run").fine_tuning.iterdir()
    file = checkpoint / "state.json"
    state = json.loads(file.read_text())
    for damage in ({"step": -5}, {"step": 1e300}, {"best_step": 1}):
        file.write_text(json.dumps(state | damage))
        resumed = CliRunner().invoke(app, ["--allow", str(data), "sft", "--resume", str(tmp_path / "run")])
        assert resumed.exit_code == 2
        assert "state.json does not match this run's state" in resumed.output


def test_nan_validation_losses_are_an_error(
    data: Path, model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalLearner, "validate", lambda self, held_out: ImitationScore(math.nan, None))
    command = make_command(data, model_directory, tmp_path / "run", "--epochs", "1", "--validation", "0.1")
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "The validation loss was not finite after any epoch" in done.output


def test_cold_start_makes_the_same_model(data: Path, model_directory: Path, tmp_path: Path) -> None:
    one = sft(data, model_directory, tmp_path / "sft", "--epochs", "2", "--validation", "0.1")
    settings = {
        "games": ["tic_tac_toe"],
        "steps": 0,
        "evaluation": {"matches": 2, "search_matches": 2, "opponents": ["random"]},
        "model": {"name": str(model_directory)},
        "cold_start": {
            "data": [str(data)],
            "epochs": 2,
            "validation": 0.1,
            "tune": "full",
            "learning_rate": 0.003,
        },
    }
    from gymposium_train.config.reading import build_config

    other = train(build_config(settings), out=tmp_path / "train")
    assert (one.cold_start / "model.safetensors").read_bytes() == (other.cold_start / "model.safetensors").read_bytes()


@pytest.mark.slow
def test_records_make_the_same_model_as_their_chats(model_directory: Path, tmp_path: Path) -> None:
    played = ("--game", "tic_tac_toe", "--players", "random,mcts-5", "-n", "6")
    shown = ("--by", "2", "--keep", "draw,win", "--prompt", "full", "--reply", "tags")
    done = CliRunner().invoke(app, ["synth", *played, *shown, "--out", str(tmp_path / "moves")])
    assert done.exit_code == 0, done.output
    chats, matches = (tmp_path / "moves" / name for name in ("data.jsonl", "matches.jsonl"))
    plain = ("--epochs", "1", "--validation", "0", "prompting.prompt=full", "prompting.reply=tags")
    one = sft(chats, model_directory, tmp_path / "chats", *plain)
    two = sft(matches, model_directory, tmp_path / "records", *plain, "--player", "mcts-5", "--keep", "win,draw")
    assert (one.cold_start / "model.safetensors").read_bytes() == (two.cold_start / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Name files"),
        (("chats.jsonl",), "Name one with --model"),
        (("missing.jsonl", "--model", "MODEL"), "missing.jsonl"),
        (("chats.jsonl", "--model", "MODEL", "--validation", "1"), "--validation 1"),
        (("chats.jsonl", "--model", "MODEL", "--validation", "0.99"), "holds out all"),
        (("chats.jsonl", "--model", "MODEL", "--tune", "some"), "'some'"),
    ],
)
def test_invalid_arguments_are_errors(
    arguments: Sequence[str], said: str, data: Path, model_directory: Path, tmp_path: Path
) -> None:
    named = {"chats.jsonl": str(data), "MODEL": str(model_directory)}
    given = [named.get(argument, argument) for argument in arguments]
    done = CliRunner().invoke(app, ["sft", *given, "--out", str(tmp_path / "run")])
    assert done.exit_code != 0
    assert said in f"{done.output} {done.exception}"
