"""Which model learns, what of it is trained, and what samples from it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymposium_agents.lora.files import MAX_RANK
from gymposium_agents.small_size import SmallModel
from gymposium_agents.sources import Trust
from gymposium_train.settings import Settings


class Lora(Settings):
    """LoRA on linear layers (Hu et al., 2021), no dropout."""

    rank: int = Field(default=32, ge=1, le=MAX_RANK)
    """How many numbers stand between a layer's inputs and its outputs."""
    alpha: int = Field(default=64, ge=1)
    """What the LoRA adds is multiplied by this over its rank; usually twice the rank."""
    targets: tuple[str, ...] | None = None
    """The layers' last names (`q_proj`, `v_proj` …); all linear layers but the output where it is left out."""


class Model(Settings):
    """The model that learns."""

    name: str | None = None
    """A directory or hub name; left out, a small model is made on the spot."""
    small: SmallModel = Field(default_factory=SmallModel)
    """Size of the model that is made on the spot."""
    tune: Literal["lora", "full"] = "lora"
    """What reinforcement learning trains: a LoRA on the frozen model, or all of its weights."""
    load: Literal["4bit"] | None = None
    """`4bit`: the frozen weights are quantized as they are read (QLoRA); a LoRA is trained on them."""
    lora: Lora = Field(default_factory=Lora)
    """The LoRA, with `tune = "lora"`."""
    trust_remote_code: bool = False
    """Run Python code that the model's directory brings. It has all rights of whoever trains."""
    allow_pickle: bool = False
    """Read weights from pickles (`pytorch_model.bin`) where there are no safetensors."""

    @property
    def trust(self) -> Trust:
        """What the model's files may do."""
        return Trust(self.trust_remote_code, self.allow_pickle)


class Engine(Settings):
    """What samples the rollouts."""

    kind: str = "shared"
    """`shared`: the learner's own model in memory. `own`: a second copy of it in this process, for rollouts beside
    updates. `vllm`: a vLLM server."""
    url: str | None = None
    """Of a server that runs already; left out, `vllm` starts one of its own for the run."""
    arguments: tuple[str, ...] = ()
    """More arguments for the server that is started for the run, as vLLM takes them:
    `["--gpu-memory-utilization", "0.4"]` where learner and server share a GPU."""
    devices: tuple[str, ...] = ()
    """GPUs of the server that is started for the run, named as in `CUDA_VISIBLE_DEVICES`; left out, those that the run
    sees. Learning processes take the first ones that the run sees, and a server may only share one of them where
    `arguments` says its share of the memory."""
    at_once: int | None = Field(default=None, ge=1)
    """Requests in flight to the vLLM server; left out, as many as it runs at once (its `--max-num-seqs`) where
    gymposium started it, and 64 where it is another. More than it runs wait in the server, at the cost of their time
    limit."""
    request_seconds: float = Field(default=600.0, gt=0.0)
    """Time limit of a request to the vLLM server, beside what its tokens get."""
    token_seconds: float = Field(default=1.0, ge=0.0)
    """What each of `asking.max_tokens` adds to the time limit of a request to the vLLM server."""
    schedule: Literal["rounds", "streaming"] = "rounds"
    """`rounds`: all matches ask together, so a run repeats to the bit. `streaming`: a match goes on as soon as its
    answers are in, for servers."""
    staleness: int = Field(default=0, ge=0)
    """So many steps the weights that play may be behind those that learn; 0: strictly on-policy. Above 0 rollouts
    overlap updates, which `shared` cannot."""
