"""Full weights reach the servers exactly after each update, and a failed update keeps the old ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from gymposium.errors import GymposiumError
from gymposium_agents.chat.tokens import BASE, Completion, Sampling, TokenRequest
from gymposium_agents.engines.protocol import WeightsHost
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import Server, run_server, run_servers
from gymposium_agents.engines.vllm.settings import ServerSettings
from gymposium_train.config import TrainConfig

from .conftest import FIRST, SECOND
from .test_killed import kill
from .test_training import config_for, policies, training

MakeRequest = Callable[..., TokenRequest]
STEPS = 3
FILE = "model.safetensors"


def make_qwen(directory: Path, tokenizer_of: Path, **experts: Any) -> Path:
    """Write a tiny Qwen3 with tied embeddings, or with a mixture of experts and an output layer of its own."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen3Config, Qwen3MoeConfig

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_of)
    config = (Qwen3MoeConfig if experts else Qwen3Config)(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=512,
        initializer_range=0.15,
        tie_word_embeddings=not experts,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **experts,
    )
    torch.manual_seed(5)
    AutoModelForCausalLM.from_config(config).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    shutil.copy(tokenizer_of / "player.json", directory)
    return directory


@pytest.fixture(scope="module")
def qwen(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_qwen(tmp_path_factory.mktemp("models") / "qwen", model_directory)


@pytest.fixture(scope="module")
def mixture(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "norm_topk_prob": True}
    return make_qwen(tmp_path_factory.mktemp("models") / "mixture", model_directory, **experts)


@pytest.fixture(scope="module")
def whole_server(qwen: Path) -> Iterator[Server]:
    with run_server(ServerSettings(str(qwen), kv_cache_gib=1)) as started:
        yield started


@pytest.fixture
def whole_engine(whole_server: Server, qwen: Path, end: int, changed: Any) -> Iterator[VllmEngine]:
    """An engine whose server has the first version."""
    with VllmEngine(whole_server.url, model=str(qwen), stops=frozenset({end})) as made:
        made.replace_weights(changed(1), FIRST)
        yield made


@pytest.fixture(scope="module")
def changed(qwen: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A directory with all weights of the model, changed by a seed."""
    parent = tmp_path_factory.mktemp("changed")

    def make(seed: int) -> Path:
        directory = parent / str(seed)
        if not directory.exists():
            shutil.copytree(qwen, directory)
            generator = torch.Generator().manual_seed(seed)
            tensors = load_file(directory / FILE)
            for tensor in tensors.values():
                tensor += 0.1 * torch.randn(tensor.shape, generator=generator)
            save_file(tensors, directory / FILE, metadata={"format": "pt"})
        return directory

    return make


def full(model: Path, **engine: Any) -> TrainConfig:
    config = config_for(model, **engine)
    return config.model_copy(
        update={
            "model": config.model.model_copy(update={"tune": "full"}),
            "optimizer": config.optimizer.model_copy(update={"learning_rate": 1e-3}),
        }
    )


def largest_difference(engine: Any, learner: Any, pairs: Sequence[Any]) -> float:
    """The largest difference in log-probability between the engine and the learner."""
    by_engine, by_learner = engine.score(pairs), learner.score(pairs)
    return max(
        abs(a - b) for one, two in zip(by_engine, by_learner, strict=True) for a, b in zip(one, two, strict=True)
    )


def check_training(config: TrainConfig, run_directory: Path, some_ids: Callable[..., Any]) -> VllmEngine:
    pairs = [(some_ids(f"p{n}", 10 + n), some_ids(f"c{n}", 60)) for n in range(8)]
    with training(config, run_directory) as (run, _):
        trainee = run.trainee
        assert trainee.publish()["sync/canary"] < 1e-4
        scores = [trainee.engine.score(pairs)]
        for step in range(STEPS):
            groups, _ = run.play(step)
            assert policies(groups) == {trainee.policy}
            assert run.learn(step, groups)["train/first_log_ratio"] < 1e-4
            assert trainee.publish()["sync/canary"] < 1e-4
            assert largest_difference(trainee.engine, trainee.learner, pairs) < 1e-4
            scores.append(trainee.engine.score(pairs))
            kept = trainee.players.keep()
        moved = [abs(a - b) for a, b in zip(scores[0][0], scores[-1][0], strict=True)]
        assert max(moved) > 0.01, "the updates are visible"
        assert [path.name for path in (run_directory / "versions" / ".weights").iterdir()] == [str(kept)]
        past = trainee.players.past(kept)
        assert largest_difference(past.engine, trainee.learner, pairs) < 1e-4
        engine = trainee.engine
        assert isinstance(engine, VllmEngine)
    assert not (run_directory / "versions" / ".weights").exists()
    return engine


def test_each_full_update_reaches_the_server(whole_server: Server, qwen: Path, tmp_path: Path, some_ids: Any) -> None:
    assert json.loads((qwen / "config.json").read_text())["tie_word_embeddings"]
    check_training(full(qwen, url=whole_server.url), tmp_path, some_ids)


@pytest.mark.slow
def test_each_mixture_of_experts_update_reaches_the_server(mixture: Path, tmp_path: Path, some_ids: Any) -> None:
    check_training(full(mixture), tmp_path / "run", some_ids)


def test_replies_in_progress_keep_their_weights_and_version(
    whole_engine: VllmEngine, changed: Any, make_request: MakeRequest
) -> None:
    """Also those that name an earlier version, as matches in progress do, and those that wait for their turn."""
    assert isinstance(whole_engine, WeightsHost)
    long = Sampling(temperature=1.0, max_tokens=64)
    futures = [whole_engine.submit(make_request(n, FIRST), long) for n in range(80)]
    whole_engine.replace_weights(changed(2), SECOND)
    futures += [
        whole_engine.submit(make_request(n, policy), long) for n, policy in enumerate([FIRST, SECOND, None], 80)
    ]
    completions = [future.result() for future in futures]
    assert [done.policy for done in completions[-3:]] == [SECOND] * 3
    assert {done.policy for done in completions} == {FIRST, SECOND}
    for version in (SECOND, FIRST):  # the present one first
        if version == FIRST:
            whole_engine.replace_weights(changed(1), FIRST)
        chosen = [n for n, done in enumerate(completions) if done.policy == version]
        scores = whole_engine.score([(make_request(n).prompt, completions[n].ids) for n in chosen])
        for n, score in zip(chosen, scores, strict=True):
            assert completions[n].logprobs == pytest.approx(score, abs=1e-4), "one version sampled the whole reply"


def test_incompatible_weights_are_refused_and_old_ones_kept(
    whole_engine: VllmEngine, changed: Any, tmp_path: Path, make_request: MakeRequest
) -> None:
    before = whole_engine.generate([make_request(0)], Sampling(0.0, 16))
    tensors = load_file(changed(2) / FILE)
    name = "model.layers.1.mlp.up_proj.weight"
    broken: dict[str, tuple[Callable[[Path], object], str]] = {
        "missing": (
            lambda file: save_file({k: v for k, v in tensors.items() if k != name}, file),
            f"{name} is missing",
        ),
        "wrong": (
            lambda file: save_file({**tensors, name: tensors[name][:-1].contiguous()}, file),
            r"shape \[127, 64\]",
        ),
        "extra": (lambda file: save_file({**tensors, "more": torch.zeros(1)}, file), "more is not part of the model"),
        "truncated": (lambda file: file.write_bytes((changed(2) / FILE).read_bytes()[:-100]), "truncated"),
        "header": (lambda file: file.write_bytes((changed(2) / FILE).read_bytes()[:100]), "truncated"),
        "empty": (lambda file: None, "no safetensors"),
    }
    for kind, (write, problem) in broken.items():
        directory = tmp_path / kind
        directory.mkdir()
        write(directory / FILE)
        with pytest.raises(GymposiumError, match=problem):
            whole_engine.replace_weights(directory, SECOND)
        assert whole_engine.policy == FIRST
    assert whole_engine.generate([make_request(0)], Sampling(0.0, 16)) == before
    whole_engine.replace_weights(changed(2), SECOND)
    assert whole_engine.generate([make_request(0)], Sampling(0.0, 16)) != before


def test_base_is_replaced_and_the_digest_reported(whole_engine: VllmEngine, make_request: MakeRequest) -> None:
    with pytest.raises(GymposiumError, match="learner-v1 has replaced its weights"):
        whole_engine.generate([make_request(0, BASE)], Sampling(0.0, 4))
    digest = whole_engine.digest(FIRST)
    assert digest is not None
    assert len(digest) == 64


@pytest.mark.slow
def test_killed_server_returns_with_current_weights(
    whole_server: Server, whole_engine: VllmEngine, changed: Any, make_request: MakeRequest
) -> None:
    requests = [make_request(n) for n in range(8)]
    before = whole_engine.generate(requests, Sampling(0.0, 16))
    restarts = whole_server.restarts
    kill(whole_server)
    again = whole_engine.generate(requests, Sampling(0.0, 16))
    assert whole_server.restarts == restarts + 1
    check_equal(again, before)
    whole_server.restart()  # unnoticed, because no request was in flight
    check_equal(whole_engine.generate(requests, Sampling(0.0, 16)), before)


def check_equal(found: Sequence[Completion], expected: Sequence[Completion]) -> None:
    assert [done.ids for done in found] == [done.ids for done in expected]
    assert {done.policy for done in found} == {done.policy for done in expected}
    for done, other in zip(found, expected, strict=True):
        assert done.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@pytest.mark.slow
def test_killed_server_gets_new_weights_on_return(
    qwen: Path, tmp_path: Path, some_ids: Any, changed: Any, make_request: MakeRequest, end: int
) -> None:
    with run_servers([ServerSettings(str(qwen), kv_cache_gib=1)] * 2) as servers:
        urls = [server.url for server in servers]
        check_training(full(qwen, url=",".join(urls)), tmp_path / "run", some_ids)
        requests = [replace(make_request(n), conversation=f"match-{n}") for n in range(16)]
        with VllmEngine(*urls, model=str(qwen), stops=frozenset({end})) as engine:
            engine.replace_weights(changed(1), FIRST)
            kill(servers[0])
            engine.replace_weights(changed(2), SECOND)
            expected = engine.generate(requests, Sampling(0.0, 16))
            assert {done.policy for done in expected} == {SECOND}
            servers[0].revive()
            kill(servers[1])
            check_equal(engine.generate(requests, Sampling(0.0, 16)), expected)
            servers[1].revive()
            digest = engine.digest(SECOND)
            assert digest is not None
            assert "," not in digest
