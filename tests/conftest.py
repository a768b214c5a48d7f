"""A small language model of real architecture, made once. Torch is imported only by tests that ask for it."""

from __future__ import annotations

import gc
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import is_hypothesis_test, settings

from gymposium.games.registry import load_game
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader
from gymposium.util.child_process import PLUGIN_FILES, list_plugin_files

settings.register_profile("gymposium", deadline=None)  # a busy machine is no failure
settings.load_profile("gymposium")

LONGEST = ("test_types.py", "test_processes.py", "test_pictures_in_a_browser.py")
"""Files with the longest tests."""

if TYPE_CHECKING:
    from gymposium_agents.chat.small_size import SmallModel
    from gymposium_agents.models.loading import LoadedModel


def pytest_configure() -> None:
    """Read no user's file, and let Ctrl-C reach the commands that tests start, also if pytest was started with it
    ignored (`nohup`, `&`)."""
    os.environ["GYMPOSIUM_CONFIG"] = ""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection() -> None:
    """Collect no garbage while pytest collects tests, which makes hardly any: it took two fifths of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but never look at the millions of objects of tests and modules for it."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let property tests try a third of their examples unless `GYMPOSIUM_EXAMPLES` is `all`, and run the longest tests
    first."""
    if os.environ.get("GYMPOSIUM_EXAMPLES") != "all":
        tests = {getattr(item.obj, "__func__", item.obj) for item in items if isinstance(item, pytest.Function)}
        for test in filter(is_hypothesis_test, tests):
            given: settings = test._hypothesis_internal_use_settings
            few = min(given.max_examples, max(10, given.max_examples // 3))
            test._hypothesis_internal_use_settings = settings(given, max_examples=few)
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="module", autouse=True)
def plugin_files_before() -> list[Path]:
    """The plugin files that fixtures for a whole session had loaded before the module's own fixtures."""
    return list_plugin_files()


@pytest.fixture(autouse=True)
def global_options_of_the_test(request: pytest.FixtureRequest, plugin_files_before: list[Path]) -> Iterator[None]:
    """Keep the global options of a test (`--plugin`, `--allow`, ...), which child processes inherit, from the next, and
    plugin files of fixtures from the tests in other modules, except those that lie beside the test."""
    before = {name: value for name, value in os.environ.items() if name.startswith("GYMPOSIUM_")}
    if PLUGIN_FILES in before:
        files = list_plugin_files()
        own = [file for file in files if file not in plugin_files_before or file.parent == request.path.parent]
        os.environ[PLUGIN_FILES] = "\n".join(map(str, own))
    yield
    for name in {name for name in os.environ if name.startswith("GYMPOSIUM_")} - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(scope="session")
def game_texts() -> list[str]:
    """Prompts of two games."""
    found = []
    rng = random.Random(0)
    for name in ("tic_tac_toe", "kuhn_poker"):
        game = load_game(name)
        prompt = get_prompt(game, "compact", get_reader("move"))
        for seed in range(20):
            match = game.new(seed)
            while seats := match.to_move():
                for seat in seats:
                    observation = match.observe(seat, "compact")
                    found.append(prompt(observation))
                match.apply({seat: rng.choice(match.legal_moves(seat) or []) for seat in seats})
    return found


@pytest.fixture(scope="session")
def game_moves() -> list[str]:
    """The moves in these prompts."""
    return [*(f"{column}{row}" for column in "abc" for row in "123"), "pass", "bet"]


@pytest.fixture(scope="session")
def tiny_size() -> SmallModel:
    from gymposium_agents.chat.small_size import SmallModel

    return SmallModel(hidden=32, layers=2, heads=2, feed_forward=64, vocabulary=384)


@pytest.fixture(scope="session")
def model_directory(
    game_texts: list[str], game_moves: list[str], tiny_size: SmallModel, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    from gymposium_agents.models.small import make_small_model

    directory = tmp_path_factory.mktemp("models") / "tiny"
    make_small_model(directory, game_texts, seed=1, size=tiny_size, moves=game_moves)
    return directory


@pytest.fixture(scope="session")
def moe_directory(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mixture of experts with the tokenizer of the small model."""
    import torch
    from transformers import AutoTokenizer, Qwen3MoeConfig, Qwen3MoeForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(model_directory)
    config = Qwen3MoeConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        moe_intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        num_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=1_024,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Qwen3MoeForCausalLM(config)
    directory = tmp_path_factory.mktemp("models") / "moe"
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


@pytest.fixture(scope="session")
def tiny(model_directory: Path) -> LoadedModel:
    import torch

    from gymposium_agents.models.loading import load_model

    torch.set_num_threads(1)
    return load_model(model_directory)


@pytest.fixture(scope="session")
def adapter_directory(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA whose weights are not zero, saved as PEFT saves it."""
    import torch

    from gymposium_agents.lora.attach import attach_lora
    from gymposium_agents.models.loading import load_model

    model = attach_lora(load_model(model_directory).model, rank=4, alpha=8, seed=0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.3, generator=generator)
    directory = tmp_path_factory.mktemp("adapters") / "tuned"
    model.save_pretrained(directory)
    return directory
