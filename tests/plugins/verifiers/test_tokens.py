"""verifiers' training client, which renders the conversation to token ids: only the agents' own replies are trained.

Its renderer of Qwen 3 runs on a small tokenizer that knows bytes and the special tokens of that template. No model
samples: a scripted endpoint answers with the ids of legal moves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import verifiers.v1 as vf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from gymposium_verifiers import load_environment

from .endpoint import Endpoint, legal_moves, serving, stream

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
LOGPROB = -0.5


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_ = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]))
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_.decoder = decoders.ByteLevel()
    bytes_.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    bytes_.add_tokens([AddedToken(token, normalized=False) for token in MARKS])
    directory = tmp_path_factory.mktemp("models") / "bytes"
    PreTrainedTokenizerFast(tokenizer_object=bytes_, eos_token="<|im_end|>").save_pretrained(directory)
    return PreTrainedTokenizerFast.from_pretrained(directory)


@contextmanager
def engine(tokenizer: PreTrainedTokenizerFast, context: int = 100_000) -> Iterator[Endpoint]:
    """An endpoint that continues token ids with a legal move or an answer, and an end."""

    def respond(path: str, request: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        if path.endswith("/models"):
            return 200, {"data": [{"id": tokenizer.name_or_path, "max_model_len": context}]}
        prompt = tokenizer.decode(request["token_ids"])
        moves = legal_moves(prompt)
        if moves:
            reply = stream(0, prompt).choice(moves)
        else:
            call = {"name": "return_final_answer", "arguments": {"answer": "x", "sources": []}}
            reply = f"<tool_call>\n{json.dumps(call)}\n</tool_call>"
        ids = tokenizer.encode(f"{reply}<|im_end|>", add_special_tokens=False)
        logprobs = {"content": [{"token": f"token_id:{number}", "logprob": LOGPROB} for number in ids]}
        choice = {"index": 0, "token_ids": ids, "logprobs": logprobs, "finish_reason": "stop"}
        return 200, {"request_id": "scripted", "choices": [choice]}

    with serving(respond) as served:
        yield served


def rollout(tokenizer: PreTrainedTokenizerFast, game: str, context: int = 100_000, **settings: Any) -> vf.Episode:
    """The episode of the first task with the training client."""
    env = load_environment(game, **settings)
    [task] = env.taskset.take(1)

    async def run(client: vf.TrainClientConfig) -> vf.Episode:
        model = vf.ModelContext(model=tokenizer.name_or_path, client=client, sampling=vf.SamplingConfig())
        async with env.serving():
            return await env.run_episode(task, model)

    with engine(tokenizer, context) as served:
        client = vf.TrainClientConfig(
            base_url=served.url,
            api_key_var="NO_KEY",
            renderer={"name": "qwen3", "enable_thinking": False},
            renderer_model_name=tokenizer.name_or_path,
        )
        return asyncio.run(run(client))


@pytest.mark.parametrize(("game", "seats"), [("goofspiel(num_cards=4)", 1), ("leduc_poker", "all"), ("hearts", "0,2")])
def test_only_agent_replies_are_sampled_tokens(game: str, seats: int | str, tokenizer: PreTrainedTokenizerFast) -> None:
    episode = rollout(tokenizer, game, opponents="random", seats=seats)
    assert episode.errors == []
    [line] = [trace.info["gymposium"]["record"] for trace in episode.traces if "record" in trace.info["gymposium"]]
    record = json.loads(line)
    for trace in episode.traces:
        seat = trace.info["gymposium"]["seat"]
        mine = [turn["text"] for turn in record["turns"] if turn["seat"] == seat]
        [branch] = trace.branches
        sampled = [token for token, mask in zip(branch.token_ids, branch.sampled_mask, strict=True) if mask]
        assert tokenizer.decode(sampled).split("<|im_end|>")[:-1] == mine
        assert [logprob for logprob in branch.logprobs if logprob] == [LOGPROB] * len(sampled)
        assert tokenizer.decode(branch.token_ids).count("<|im_start|>user") == len(mine)


def test_tokens_contain_tools_and_calls(tokenizer: PreTrainedTokenizerFast) -> None:
    episode = rollout(tokenizer, "mail")
    assert episode.errors == []
    [trace] = episode.traces
    [branch] = trace.branches
    text = tokenizer.decode(branch.token_ids)
    assert '"name": "search_inbox"' in text
    assert trace.metrics["report.calls"] == 1.0
    sampled = [token for token, mask in zip(branch.token_ids, branch.sampled_mask, strict=True) if mask]
    assert tokenizer.decode(sampled).startswith('<tool_call>\n{"name": "return_final_answer"')


def test_prompt_filling_the_context_forfeits(tokenizer: PreTrainedTokenizerFast) -> None:
    [trace] = rollout(tokenizer, "connect_four", context=1500, seats=0).traces
    assert trace.metrics["forfeit_out_of_context"] == 1.0
    assert trace.reward == -1.0
