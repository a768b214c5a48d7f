"""TRL plays games and worlds through its `environment_factory`."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import concatenate_datasets
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_template

from gymposium.errors import BadOption
from gymposium.games.registry import load_game
from gymposium.records import Record, read_records, verify_file
from gymposium.tasks.tools import list_tools
from gymposium_agents.chat.chat import Chat
from gymposium_agents.models.loading import LoadedModel
from gymposium_trl import EnvironmentFactory

from .fixtures import GUESSES
from .runs import QUIET

pytestmark = QUIET


def list_records(path: Path) -> list[Record]:
    return [record for _, record in read_records(path) if isinstance(record, Record)]


def test_game_is_played_by_the_tool_move(tmp_path: Path) -> None:
    factory = EnvironmentFactory("tic_tac_toe", on_illegal="retry(1)", records=tmp_path / "r.jsonl")
    environment: Any = factory()
    [row] = factory.dataset(1, seed=1, seats=1)
    text = environment.reset(**row)
    assert text.startswith("Tic-tac-toe on a 3 by 3 board.")
    assert "Legal moves: " in text
    assert "answer" not in text.lower()
    again = environment.move(move="z9")
    assert "Legal moves: " in again
    assert again.startswith("The reply could not be read.")
    while not text.startswith("The match is over"):
        text = environment.move(move=factory_moves(environment)[0])
    assert environment.move(move="a1") == "The match is over."
    [record] = [environment.get_reward(), *list_records(tmp_path / "r.jsonl")][1:]
    assert record.players == ["random", "trl"]
    assert record.turns[0]["reading"] in ("move", "unparsable")
    assert environment.get_reward() == record.returns[1]


def factory_moves(environment: Any) -> list[str]:
    moves: list[str] = environment._table._table.asked[0].legal_moves
    return moves


def test_unfinished_rollout_forfeits_and_copies_share_the_deal(tmp_path: Path) -> None:
    factory = EnvironmentFactory("kuhn_poker", on_illegal="retry(1)", records=tmp_path / "r.jsonl")
    [row] = factory.dataset(1, seed=3, seats=0)
    first, second = factory(), factory()
    assert first.reset(**row) == second.reset(**row)
    assert first.get_reward() == factory.game.utility_range[0]
    [record] = list_records(tmp_path / "r.jsonl")
    assert (record.ending.kind, record.ending.seat) == ("out of context", 0)
    assert verify_file(tmp_path / "r.jsonl").problems == []


@pytest.mark.parametrize("game", ["mail", "tables"])
def test_tools_of_worlds_have_their_schemas(game: str) -> None:
    pytest.importorskip("gymposium_worlds")
    environment = EnvironmentFactory(game)()
    for tool in list_tools(load_game(game)):
        function = get_json_schema(getattr(environment, tool.name))["function"]
        assert function["name"] == tool.name
        assert function["description"] == " ".join(tool.description.split())
        expected, found = tool.parameters, function["parameters"]
        assert found["properties"].keys() == expected["properties"].keys()
        assert found.get("required", []) == expected.get("required", [])
        for name, schema in expected["properties"].items():
            assert found["properties"][name].get("type") == schema.get("type")
            assert found["properties"][name].get("enum") == schema.get("enum")


def test_rows_without_a_seed_are_refused() -> None:
    with pytest.raises(BadOption, match=r"train_dataset=factory\.dataset"):
        EnvironmentFactory("kuhn_poker")().reset(prompt=[])


def teach_calls(model: Any, tokenizer: Any, factory: EnvironmentFactory, chat: Chat) -> None:
    """Teach the model to make two guesses at random, behind the prompt that TRL renders."""
    environment: Any = factory()
    asked = [{"role": "user", "content": environment.reset(seed=1)}]
    start = tokenizer.apply_chat_template(
        asked, tools=[environment.guess], add_generation_prompt=True, return_dict=False
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for step in range(60):
        ids, places = [*start], list[int]()
        for call in (GUESSES[step % 3], GUESSES[step // 3 % 3]):
            reply = chat.reply("", [call])
            places += range(len(ids), len(ids) + len(reply))
            ids += [*reply, *chat.more("wrong", after="tool", ended=True)]
        logits = model(torch.tensor([ids])).logits[0, [place - 1 for place in places]]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, torch.tensor([ids[place] for place in places])).backward()
        optimizer.step()


def test_two_environments_train_two_steps(guess: str, tool_model: LoadedModel, tmp_path: Path) -> None:
    factories = {
        "guess": EnvironmentFactory(guess, prompt="compact", records=tmp_path / "guess.jsonl"),
        "tic": EnvironmentFactory("tic_tac_toe", prompt="compact", records=tmp_path / "tic.jsonl"),
    }
    rows = [factory.dataset(2, seed=1, environment=name) for name, factory in factories.items()]
    tokenizer = copy.deepcopy(tool_model.chat.tokenizer)
    tokenizer.response_template = qwen3_template  # TRL sets it for templates that it knows to the byte
    model = copy.deepcopy(tool_model.model).requires_grad_(True).train()
    teach_calls(model, tokenizer, factories["guess"], tool_model.chat)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=GRPOConfig(
            output_dir=str(tmp_path / "run"),
            num_generations=4,
            per_device_train_batch_size=16,
            max_steps=2,
            max_completion_length=128,
            learning_rate=1e-5,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
            bf16=False,
        ),
        train_dataset=concatenate_datasets(rows),
        environment_factory=factories,
    )
    trainer.train()
    assert any(not torch.equal(*pair) for pair in zip(model.parameters(), before, strict=True))
    assert trainer.state.global_step == 2
    guessed, tic = list_records(tmp_path / "guess.jsonl"), list_records(tmp_path / "tic.jsonl")
    assert (len(guessed), len(tic)) == (16, 16)
    logged = trainer.state.log_history[0]
    means = {name: logged[f"rewards/{factory.game.name}/mean"] for name, factory in factories.items()}
    assert logged["tools/call_frequency"] >= 0.4
    assert {record.returns[0] for record in guessed} >= {1.0, 0.0}
    assert means["guess"] == pytest.approx(sum(record.returns[0] for record in guessed[:8]) / 8)
    assert verify_file(tmp_path / "guess.jsonl").problems == []
    assert verify_file(tmp_path / "tic.jsonl").problems == []
