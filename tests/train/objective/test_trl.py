"""Credit and objective against TRL's trainers: the same numbers and the same gradients from both.

TRL's trainer holds a real model. Tokens and the engine's log-probabilities are handed to it through its `rollout_func`;
its own methods do the rest, as in `trl/trainer/grpo_trainer.py` and `rloo_trainer.py` of TRL 1.16.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gymposium_agents.models.loading import load_model
from gymposium_train.credit.grpo import Grpo, GrpoSettings
from gymposium_train.credit.protocol import Credit, Episode
from gymposium_train.credit.rloo import Rloo, RlooSettings
from gymposium_train.objective.aggregate import compute_turn_weights
from gymposium_train.objective.cispo import Cispo, CispoSettings
from gymposium_train.objective.gspo import Gspo, GspoSettings
from gymposium_train.objective.mismatch import mask_ratio, truncate_ratio
from gymposium_train.objective.ppo import Ppo, PpoSettings
from gymposium_train.objective.protocol import Aggregation, Objective, PolicyTokens, mark_outside
from gymposium_train.objective.terms import compute_entropy, k3

pytestmark = [
    # warnings of the libraries that TRL uses
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning"),
    pytest.mark.filterwarnings("ignore:You are using 'rollout_func'"),
]

GROUP = 4
REWARDS = [1.0, 0.0, 0.5, 3.0, -2.0, -1.0, -1.0, 0.0, 0.25, 0.25, 0.25, 0.5]
"""In no group are all rewards equal, because TRL counts such groups in its denominators."""
PROMPTS = [{"prompt": "X to move"}] * len(REWARDS)
LONGEST = 12
LOW, HIGH = 0.1, 0.25
CAP, DELTA = 1.2, 1.4


class Oracle:
    """TRL's GRPO trainer with given tokens: trajectories of two turns of all lengths, with the text of an environment
    between them, and log-probabilities of an engine that differ much from the model's."""

    def __init__(self, model_directory: Path, scratch: Path) -> None:
        from trl import GRPOConfig, GRPOTrainer

        rng = random.Random(0)
        turns = [(rng.randint(1, 5), rng.randint(0, 2), rng.randint(1, 5)) for _ in REWARDS]
        self.turns = [(i, tokens) for i, (first, _, second) in enumerate(turns) for tokens in (first, second)]
        """The argument of `turn_weights`: the trajectory and the number of tokens of each turn."""
        self.rewards = list(REWARDS)
        arguments = trainer_arguments(model_directory)
        vocabulary = arguments["model"].config.vocab_size
        tokens = [[rng.randrange(5, vocabulary) for _ in range(sum(three))] for three in turns]
        logprobs = [[rng.gauss(-math.log(vocabulary), 0.3) for _ in row] for row in tokens]

        def rollout(prompts: list[str], trainer: Any) -> dict[str, Any]:
            return {
                "prompt_ids": [[5, 6, 7]] * len(prompts),
                "completion_ids": tokens,
                "logprobs": logprobs,
                "env_mask": [[1] * first + [0] * said + [1] * second for first, said, second in turns],
            }

        self.trl: Any = GRPOTrainer(
            **arguments,
            reward_funcs=lambda completions, **_: self.rewards,
            args=GRPOConfig(
                **trainer_settings(scratch),
                epsilon=LOW,
                epsilon_high=HIGH,
                use_bias_correction_kl=False,
            ),
            rollout_func=rollout,
        )
        self.trl.current_gradient_accumulation_steps = 1
        # the tokens come from `rollout`, so there is no engine to update
        self.trl.use_vllm, self.trl._last_loaded_step = True, self.trl.state.global_step

    def inputs(self, mode: str = "token_truncate") -> dict[str, Tensor]:
        """The inputs of a loss, as TRL computes them: advantages, old log-probabilities, mismatch weights."""
        self.trl.vllm_importance_sampling_correction, self.trl.beta = True, 0.0
        self.trl.vllm_importance_sampling_mode = mode
        self.trl.vllm_importance_sampling_clip_max = CAP
        self.trl.vllm_importance_sampling_clip_min = 0.8 if mode == "token_mask" else None
        found: dict[str, Tensor] = self.trl._generate_and_score_completions(PROMPTS)
        return found

    def logprobs(self, inputs: dict[str, Tensor]) -> Tensor:
        """The log-probabilities of the model now, [B, L], with gradients."""
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        found: Tensor = self.trl._get_per_token_logps_and_entropies(
            self.trl.model, ids, mask, inputs["completion_ids"].shape[1]
        )[0]
        return found

    def gradient(self, loss: Tensor) -> Tensor:
        parameters = [p for p in self.trl.model.parameters() if p.requires_grad]
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)])


def trainer_arguments(model_directory: Path) -> dict[str, Any]:
    """A separate model for TRL, which replaces its forward method."""
    from datasets import Dataset

    loaded = load_model(model_directory)
    return {
        "model": loaded.model,
        "train_dataset": Dataset.from_list(PROMPTS),
        "processing_class": loaded.chat.tokenizer,
    }


def trainer_settings(scratch: Path) -> dict[str, Any]:
    return {
        "output_dir": str(scratch),
        "num_generations": GROUP,
        "per_device_train_batch_size": len(REWARDS),
        "max_completion_length": LONGEST,
        "beta": 0.0,
        "report_to": [],
        "use_cpu": True,
        "bf16": False,
    }


@pytest.fixture(scope="module")
def oracle(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    return Oracle(model_directory, tmp_path_factory.mktemp("grpo"))


@pytest.fixture
def moved(oracle: Oracle) -> Any:
    """The oracle and its inputs, computed before a change of the weights that takes many tokens beyond the clip."""
    inputs = oracle.inputs()
    before = {name: p.detach().clone() for name, p in oracle.trl.model.named_parameters()}
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in oracle.trl.model.parameters():
            p += 0.02 * torch.randn(p.shape, generator=generator)
    yield oracle, inputs
    oracle.trl.model.load_state_dict(before, strict=False)


def advantages(credit: Credit, rewards: list[float]) -> Tensor:
    episodes = [Episode((reward,), "nim 0", (0,)) for reward in rewards]
    groups = credit([episodes[start : start + GROUP] for start in range(0, len(episodes), GROUP)])
    return torch.tensor([one.advantages[0] for group in groups for one in group])


@pytest.mark.parametrize(("scale", "normalise"), [("group", True), ("none", False)])
def test_grpo_advantages_match_trl(oracle: Oracle, scale: str, *, normalise: bool) -> None:
    """TRL adds 1e-4 to the standard deviation, which is negligible for such large rewards."""
    oracle.trl.scale_rewards = scale
    oracle.rewards[:] = [1e4 * reward for reward in REWARDS]
    try:
        found = oracle.inputs()["advantages"]
    finally:
        oracle.rewards[:] = REWARDS
    ours = advantages(Grpo(GrpoSettings(normalise=normalise)), [1e4 * reward for reward in REWARDS])
    torch.testing.assert_close(found, ours, rtol=1e-5, atol=1e-5)


def test_rloo_advantages_match_trl(model_directory: Path, tmp_path: Path) -> None:
    from trl import RLOOConfig, RLOOTrainer

    trl: Any = RLOOTrainer(
        **trainer_arguments(model_directory),
        reward_funcs=lambda completions, **_: REWARDS,
        args=RLOOConfig(**trainer_settings(tmp_path)),
    )
    found = trl._generate_and_score_completions(PROMPTS)["advantages"]
    torch.testing.assert_close(found, advantages(Rloo(RlooSettings()), REWARDS))


PPO = Ppo(PpoSettings(clip_low=LOW, clip_high=HIGH, clip_dual=0))
DUAL = Ppo(PpoSettings(clip_low=LOW, clip_high=HIGH, clip_dual=DELTA))
GSPO = Gspo(GspoSettings(clip_low=LOW / 10, clip_high=HIGH / 10))
CISPO = Cispo(CispoSettings(clip_low=1.0, clip_high=HIGH))


@pytest.mark.parametrize("correct", [False, True], ids=["bypass", "decoupled"])
@pytest.mark.parametrize(
    ("kind", "level", "clip", "ours", "how"),
    [
        ("grpo", "token", (LOW, HIGH), PPO, "sequence"),
        ("grpo", "token", (LOW, HIGH), DUAL, "sequence"),
        ("dapo", "token", (LOW, HIGH), PPO, "token"),
        ("bnpo", "token", (LOW, HIGH), PPO, "token"),
        ("dr_grpo", "token", (LOW, HIGH), PPO, LONGEST),
        # TRL's sequence is the whole trajectory, so here it is one turn in two pieces
        ("grpo", "sequence", (LOW / 10, HIGH / 10), GSPO, "sequence"),
        # TRL's bound is the ratio itself
        ("cispo", "token", (LOW, 1.0 + HIGH), CISPO, "token"),
    ],
    ids=["grpo", "dual", "dapo", "bnpo", "dr_grpo", "gspo", "cispo"],
)
def test_losses_and_gradients_match_trl(
    moved: tuple[Oracle, dict[str, Tensor]],
    kind: str,
    level: str,
    clip: tuple[float, float],
    ours: Objective,
    how: Aggregation,
    monkeypatch: pytest.MonkeyPatch,
    *,
    correct: bool,
) -> None:
    oracle, inputs = moved
    trl = oracle.trl
    trl.loss_type, trl.importance_sampling_level, (trl.epsilon_low, trl.epsilon_high) = kind, level, clip
    trl.vllm_importance_sampling_correction = correct
    monkeypatch.setattr(trl.args, "delta", DELTA if ours is DUAL else None)
    expected = trl._compute_loss(trl.model, inputs)

    mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
    whose = torch.arange(len(REWARDS))[:, None].expand(mask.shape)[mask]
    logprobs, old = oracle.logprobs(inputs)[mask], inputs["old_per_token_logps"][mask]
    of_turns = compute_turn_weights(oracle.turns, how)
    weights = torch.tensor([w for w, (_, tokens) in zip(of_turns, oracle.turns, strict=True) for _ in range(tokens)])
    if correct:
        weights = weights * truncate_ratio(old, inputs["sampling_per_token_logps"][mask], CAP)
    found = (weights * ours(PolicyTokens(logprobs, old, inputs["advantages"][whose], whose))).sum()
    assert (
        0.1 < mark_outside((logprobs - old).exp(), 1.0 - LOW, 1.0 + HIGH).mean() < 0.9
    )  # so that the comparison includes clipping
    assert ((logprobs - old).exp() > DELTA).any()

    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(oracle.gradient(found), oracle.gradient(expected), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("mode", ["token_truncate", "token_mask"])
def test_mismatch_weights_match_trl(oracle: Oracle, mode: str) -> None:
    inputs = oracle.inputs(mode)
    old, engine = inputs["old_per_token_logps"], inputs["sampling_per_token_logps"]
    ours = truncate_ratio(old, engine, CAP) if mode == "token_truncate" else mask_ratio(old, engine, 0.8, CAP)
    real = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
    found = inputs["importance_sampling_ratio"][real]
    torch.testing.assert_close(ours[real], found)
    assert (found == (CAP if mode == "token_truncate" else 0.0)).any()


def test_kl_term_matches_trl(moved: tuple[Oracle, dict[str, Tensor]]) -> None:
    """TRL's term is k3 with k3's gradient: the difference of the losses with and without it."""
    oracle, inputs = moved
    trl = oracle.trl
    trl.loss_type, trl.importance_sampling_level = "bnpo", "token"
    reference = inputs["old_per_token_logps"]
    without = trl._compute_loss(trl.model, inputs)
    trl.beta = 10.0
    added = (trl._compute_loss(trl.model, {**inputs, "ref_per_token_logps": reference}) - without) / 10.0
    mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
    ours = k3(oracle.logprobs(inputs)[mask], reference[mask]).mean()
    torch.testing.assert_close(ours, added, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(oracle.gradient(ours), oracle.gradient(added), rtol=1e-3, atol=1e-6)


def test_entropy_matches_trl(oracle: Oracle) -> None:
    inputs = oracle.inputs()
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
    length = inputs["completion_ids"].shape[1]
    with torch.no_grad():
        theirs = oracle.trl._get_per_token_logps_and_entropies(
            oracle.trl.model, ids, mask, length, compute_entropy=True
        )[1]
        logits = oracle.trl.model(input_ids=ids, attention_mask=mask).logits[:, -length - 1 : -1]
        ours = compute_entropy(logits.log_softmax(-1))
    real = inputs["completion_mask"].bool()
    torch.testing.assert_close(ours[real], theirs[real])
