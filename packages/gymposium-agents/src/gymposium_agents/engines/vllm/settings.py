"""Settings of the vLLM engine, of requests to a server, and of a server that this process starts."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import chain
from pathlib import Path

from gymposium.errors import BadOption
from gymposium.util.child_process import python_command
from gymposium_agents.engines.vllm.setup import clean_environment

KEY_VARIABLE = "GYMPOSIUM_ENGINE_KEY"
"""Environment variable with the key that a server requires of its clients. The key is passed on in the environment
only, never on a command line or in a file."""

SERVED_NAME = "base"
"""Name under which a server serves the model without an adapter; an adapter cannot have it."""

SERVING = Path(__file__).with_name("serving.py")
"""The script that starts the server."""

LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Maximum ranks that vLLM accepts."""

CPU_LORA_LAYERS = (
    "qkv_proj q_proj k_proj v_proj o_proj gate_up_proj gate_proj up_proj down_proj out_proj "
    "query_key_value dense dense_h_to_4h dense_4h_to_h c_attn c_proj c_fc fc1 fc2"
).split()
"""The layers that an adapter may change on a CPU: linear layers, by the names that models give them, without the output
layer. With a LoRA on the output layer, vLLM 0.32 for CPUs crashes on a request for prompt log-probabilities in a batch
with others (`lora/punica_wrapper/punica_cpu.py`: add_lora_logits has one index for each request, not for each
token)."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits of requests to a server, in seconds."""

    request: float = 600.0
    """Limit of a request, in addition to `token` for each token."""
    token: float = 1.0
    """Added to the limit for each token that the reply may have."""
    connect: float = 20.0
    """Limit for opening a connection."""
    absence: float = 300.0
    """How long a server that was not started here may be unreachable before requests fail."""

    def __post_init__(self) -> None:
        if not 0 < self.request < math.inf:
            raise BadOption(f"request_seconds={self.request:g}: take a number of seconds above 0.")
        if not 0 <= self.token < math.inf:
            raise BadOption(f"token_seconds={self.token:g}: take 0 or more seconds for each token.")

    def limit(self, max_tokens: int) -> float:
        """The time limit of a request for a reply of up to `max_tokens` tokens."""
        return self.request + self.token * max_tokens


@dataclass(frozen=True, slots=True)
class VllmSettings:
    """Settings of the engine `vllm`."""

    url: str | None = None
    """The URL of a server that runs already, or of several, with commas between them:
    `http://10.0.0.1:8000,http://10.0.0.2:8000`. By default a training run starts its servers."""
    servers: int = 1
    """The number of servers that are started for the run."""
    arguments: tuple[str, ...] = ()
    """More arguments for each server that is started for the run, as vLLM takes them:
    `["--gpu-memory-utilization", "0.4"]` where learner and server share a GPU."""
    devices: tuple[str, ...] = ()
    """GPUs of the servers that are started for the run, named as in `CUDA_VISIBLE_DEVICES`: the first ones for the
    first server, as many for each. By default one server may use those that the run sees. Learning processes take the
    first GPUs that the run sees; a server may share one of them only if `arguments` sets its share of the memory."""
    at_once: int | None = None
    """The largest number of requests in flight to each server. By default as many as the server runs at once (its
    `--max-num-seqs`) if gymposium started it, otherwise 64. Further requests would wait in the server, at the cost of
    their time limit."""
    request_seconds: float = 600.0
    """Time limit of a request, in addition to `token_seconds` for each token."""
    token_seconds: float = 1.0
    """Added to the time limit of a request for each token that the reply may have."""

    def __post_init__(self) -> None:
        if self.at_once is not None and self.at_once < 1:
            raise BadOption(f"at_once={self.at_once}: take 1 or more requests at once.")
        if self.servers < 1:
            raise BadOption(f"servers={self.servers}: take 1 or more servers.")
        _ = self.patience, self.urls
        shares(self.devices, self.servers)

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs in `url`; empty without one. Raises `BadOption` for a URL that is empty or named twice."""
        urls = () if self.url is None else tuple(url.strip().rstrip("/") for url in self.url.split(","))
        for url in urls:
            if not url or urls.count(url) > 1:
                raise BadOption(
                    f"url={self.url}: {'a URL is empty' if not url else f'{url} is named twice'}. Write different URLs "
                    f"with a comma between them."
                )
        return urls

    @property
    def patience(self) -> Patience:
        """The time limits of requests. Raises `BadOption` for a limit that is out of range."""
        return Patience(request=self.request_seconds, token=self.token_seconds)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of a server that this process starts."""

    model: str
    """The model to serve, a directory or a hub name."""
    lora_rank: int = 0
    """The highest rank that an adapter may have; 0: no adapters."""
    max_loras: int = 4
    """The largest number of adapters in one batch; more may be published, and then take turns."""
    host: str = "127.0.0.1"
    """The address that the server listens on."""
    port: int = 0
    """The port that the server listens on; 0 for a free one."""
    dtype: str = "auto"
    """The number type, as vLLM's --dtype; `auto` is float32 on a CPU and the checkpoint's type on a GPU."""
    max_model_len: int | None = None
    """The largest number of tokens of prompt and reply together; None for the model's limit."""
    max_num_seqs: int = 64
    """The largest number of requests that the server works on at once; more wait in the server."""
    kv_cache_gib: int = 2
    """Memory for the key-value cache in GiB; for the CPU build."""
    devices: tuple[str, ...] = ()
    """GPUs that the server may use, as `CUDA_VISIBLE_DEVICES` names them; by default those that this process sees."""
    more: tuple[str, ...] = ()
    """Further arguments, as vLLM's server takes them."""

    def check(self) -> None:
        """Raises `BadOption` for a rank that vLLM does not accept, and for an open address without a key."""
        if self.lora_rank > LORA_RANKS[-1]:
            raise BadOption(f"vLLM takes LoRA adapters of rank {LORA_RANKS[-1]} at most, not {self.lora_rank}.")
        if not is_loopback(self.host) and not os.environ.get(KEY_VARIABLE):
            raise BadOption(
                f"A server on {self.host} can be reached from other machines and needs a key: set {KEY_VARIABLE}, here "
                f"and for its clients. Or leave --host at 127.0.0.1, and reach it through  ssh -L."
            )

    def command(self, python: str, build: str, port: int) -> list[str]:
        """The command line that starts the server with vLLM's Python."""
        options = {
            "--model": self.model,
            "--served-model-name": SERVED_NAME,
            "--host": self.host,
            "--port": str(port),
            "--dtype": "float32" if self.dtype == "auto" and build == "cpu" else self.dtype,
            # otherwise the model's generation_config.json sets a temperature, a top-p and a top-k
            "--generation-config": "vllm",
            # log-probabilities at the sampling temperature, which are compared with the learner's
            "--logprobs-mode": "processed_logprobs",
            "--max-num-seqs": str(self.max_num_seqs),
        }
        command = python_command(str(SERVING), *chain(*options.items()), python=python)
        if self.max_model_len is not None:
            command += ["--max-model-len", str(self.max_model_len)]
        if self.lora_rank:
            rank = next(rank for rank in LORA_RANKS if rank >= self.lora_rank)
            command += ["--enable-lora", "--max-loras", str(self.max_loras), "--max-lora-rank", str(rank)]
            if build == "cpu":
                command += ["--lora-target-modules", *CPU_LORA_LAYERS]
        if build == "cpu":
            # other modes need a C++ compiler. With chunked prefill vLLM 0.32 discards tokens and rewinds the request's
            # generator, which generators on a CPU cannot do, and crashes (gpu_model_runner.py: gen.set_offset)
            command += ["--enforce-eager", "--no-enable-chunked-prefill"]
        return [*command, *self.more]

    def environment(self, variables: Mapping[str, str], build: str) -> dict[str, str]:
        """The server's environment variables: those of this process, such as HF_HUB_OFFLINE, without those that belong
        to its own packages (`clean_environment`)."""
        environment = clean_environment(variables) | {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
        if key := environment.pop(KEY_VARIABLE, None):
            environment["VLLM_API_KEY"] = key
        if self.devices:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(self.devices)
        if self.lora_rank:
            environment["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "1"
        if build == "cpu":
            environment["VLLM_CPU_KVCACHE_SPACE"] = str(self.kv_cache_gib)
        return environment


def shares(devices: Sequence[str], servers: int) -> list[tuple[str, ...]]:
    """The GPUs of each server: as many for each, in their order. Raises `BadOption` if they cannot be divided."""
    if len(devices) % servers:
        raise BadOption(
            f"devices={','.join(devices)}: {len(devices)} cannot be divided among {servers} servers. Name as many for "
            f"each."
        )
    each = len(devices) // servers
    return [tuple(devices[i * each : (i + 1) * each]) for i in range(servers)]


def is_loopback(host: str) -> bool:
    """True if only this machine can reach a server that listens on `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
