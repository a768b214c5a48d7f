"""Tests against a real vLLM server on a CPU. They run if GYMPOSIUM_ENGINE_HOME names an installation (`tox run -e vllm`
makes one), and are skipped otherwise. A server takes half a minute to start, so there are few."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gymposium_agents.chat.tokens import BASE, Policy, Sampling, TokenRequest
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.home import HOME_VARIABLE
from gymposium_agents.engines.vllm.server import Server, run_server
from gymposium_agents.engines.vllm.settings import ServerSettings

if TYPE_CHECKING:
    from gymposium_agents.chat.small_size import SmallModel

RANK = 8
MAX_NUM_SEQS = 48
"""Not the default of servers or clients."""
FIRST, SECOND = Policy("learner", 1), Policy("learner", 2)
VOCABULARY = 300


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    if HOME_VARIABLE in os.environ:
        return
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=f"{HOME_VARIABLE} names no installation of vLLM"))


@pytest.fixture(scope="session")
def tiny_size() -> SmallModel:
    """A model with wider attention heads than in other tests, because vLLM does not support those."""
    from gymposium_agents.chat.small_size import SmallModel

    return SmallModel(hidden=64, layers=2, heads=2, feed_forward=128, vocabulary=320)


@pytest.fixture(scope="session")
def adapters(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Policy, Path]:
    """Two adapters that the server accepts, of ranks 4 and 8, and one whose rank is too high."""
    places = {}
    for policy, rank in ((FIRST, 4), (SECOND, 8), (Policy("wide", 1), 16)):
        places[policy] = make_adapter(model_directory, tmp_path_factory.mktemp("adapters") / str(policy), rank)
    return places


def make_adapter(model: Path, directory: Path, rank: int) -> Path:
    """A LoRA with nonzero weights, saved in PEFT's layout."""
    import torch

    from gymposium_agents.lora.attach import attach_lora
    from gymposium_agents.models.loading import load_model

    made = attach_lora(load_model(model).model, rank=rank, alpha=8, seed=0)
    generator = torch.Generator().manual_seed(rank)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if "lora_" in name:
                parameter.normal_(std=0.2, generator=generator)
    made.save_pretrained(directory)
    return directory


@pytest.fixture(scope="session")
def server(model_directory: Path) -> Iterator[Server]:
    settings = ServerSettings(str(model_directory), lora_rank=RANK, kv_cache_gib=1, max_num_seqs=MAX_NUM_SEQS)
    with run_server(settings) as started:
        yield started


@pytest.fixture(scope="session")
def end(model_directory: Path) -> int:
    from gymposium_agents.models.loading import load_chat

    return load_chat(model_directory).end


@pytest.fixture(scope="session")
def shared_engine(
    server: Server, model_directory: Path, adapters: dict[Policy, Path], end: int
) -> Iterator[VllmEngine]:
    with VllmEngine(server.url, model=str(model_directory), stops=frozenset({end})) as made:
        made.publish(adapters[FIRST], FIRST)
        made.publish(adapters[SECOND], SECOND)
        yield made


@pytest.fixture
def engine(shared_engine: VllmEngine, adapters: dict[Policy, Path]) -> VllmEngine:
    """The engine, reset to both adapters with the second one current."""
    for policy in (FIRST, SECOND):
        shared_engine.publish(adapters[policy], policy)
    return shared_engine


class Oracle:
    """Plain transformers and PEFT, one sequence at a time."""

    def __init__(self, model: Path, adapters: dict[Policy, Path]) -> None:
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM

        from gymposium_agents.lora.attach import hide_peft_warning

        torch.set_num_threads(1)

        def loaded() -> Any:
            return AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()

        self.models: dict[Policy, Any] = {BASE: loaded()}
        with hide_peft_warning():
            for policy in (FIRST, SECOND):
                self.models[policy] = PeftModel.from_pretrained(loaded(), adapters[policy]).eval()

    def rows(self, policy: Policy, prompt: Sequence[int], completion: Sequence[int], temperature: float) -> Any:
        """Log-probabilities of all tokens at each place of the completion: [length, vocabulary]."""
        import torch

        with torch.inference_mode():
            logits = self.models[policy](input_ids=torch.tensor([[*prompt, *completion]])).logits[0]
        return torch.log_softmax(logits[len(prompt) - 1 : -1].float() / temperature, dim=-1)

    def score(
        self, policy: Policy, prompt: Sequence[int], completion: Sequence[int], temperature: float = 1.0
    ) -> list[float]:
        rows = self.rows(policy, prompt, completion, temperature)
        return [float(row[token]) for row, token in zip(rows, completion, strict=True)]


@pytest.fixture(scope="session")
def oracle(model_directory: Path, adapters: dict[Policy, Path]) -> Oracle:
    return Oracle(model_directory, adapters)


@pytest.fixture(scope="session")
def some_ids() -> Callable[[str, int], tuple[int, ...]]:
    """Token ids that depend on the name and the length only, none of them special."""
    return lambda name, length: tuple(random.Random(name).choices(range(5, VOCABULARY), k=length))


@pytest.fixture(scope="session")
def make_request(some_ids: Callable[[str, int], tuple[int, ...]]) -> Callable[..., TokenRequest]:
    """A request that depends on its number only."""

    def make(number: int, policy: Policy | None = None, length: int = 40) -> TokenRequest:
        return TokenRequest(some_ids(f"prompt {number}", length), random.Random(f"seed {number}"), policy)

    return make


@pytest.fixture(scope="session")
def warm() -> Sampling:
    return Sampling(temperature=0.6, max_tokens=24)
