"""Settings of the vLLM engine, of requests to a server, and of a server started by this process."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import chain
from pathlib import Path

from gymposium.errors import BadOption
from gymposium.util.child_process import make_python_command
from gymposium.util.visible import quantity
from gymposium_agents.engines.vllm.setup import make_clean_environment

KEY_VARIABLE = "GYMPOSIUM_ENGINE_KEY"
"""Environment variable with the key that a server requires of its clients. The key is passed on only in the
environment, never on a command line or in a file."""

SERVED_NAME = "base"
"""A server's name for the model without an adapter. An adapter cannot have this name."""

SERVING = Path(__file__).with_name("serving.py")
"""The script that starts the server."""

LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Maximum ranks accepted by vLLM."""

CPU_LORA_LAYERS = (
    "qkv_proj q_proj k_proj v_proj o_proj gate_up_proj gate_proj up_proj down_proj out_proj "
    "query_key_value dense dense_h_to_4h dense_4h_to_h c_attn c_proj c_fc fc1 fc2"
).split()
"""The layers that an adapter may change on a CPU: linear layers, by the names used in models, without the output layer.
With a LoRA on the output layer, vLLM 0.32 for CPUs crashes on a request for prompt log-probabilities in a batch with
other requests. In `lora/punica_wrapper/punica_cpu.py`, add_lora_logits has one index per request, not per token."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits of requests to a server, in seconds."""

    request: float = 600.0
    """Time limit of a request. `token` is added per token."""
    token: float = 1.0
    """Seconds added to the limit for each token that the reply may have."""
    connect: float = 20.0
    """Time limit for opening a connection."""
    absence: float = 300.0
    """Time that a server not started by this process may be unreachable before requests fail."""

    def __post_init__(self) -> None:
        if not 0 < self.request < math.inf:
            raise BadOption(f"Invalid request_seconds={self.request:g}. Use a number of seconds above 0.")
        if not 0 <= self.token < math.inf:
            raise BadOption(f"Invalid token_seconds={self.token:g}. Use 0 or more seconds per token.")

    def limit(self, max_tokens: int) -> float:
        """Return the time limit of a request for a reply of up to `max_tokens` tokens."""
        return self.request + self.token * max_tokens


@dataclass(frozen=True, slots=True)
class VllmSettings:
    """Settings of the engine `vllm`."""

    url: str | None = None
    """The URL of a running server, or of several, separated by commas: `http://10.0.0.1:8000,http://10.0.0.2:8000`. By
    default, a training run starts its servers."""
    servers: int = 1
    """The number of servers to start for the run."""
    arguments: tuple[str, ...] = ()
    """More vLLM arguments for each server started for the run, such as `["--gpu-memory-utilization", "0.4"]` if learner
    and server share a GPU."""
    devices: tuple[str, ...] = ()
    """GPUs of the servers started for the run, named as in `CUDA_VISIBLE_DEVICES`. Each server gets the same number of
    GPUs, in order. By default, a single server may use those visible to the run. Learning processes use the first
    visible GPUs. A server may share one of them only if `arguments` limits its share of the memory."""
    at_once: int | None = None
    """The maximum number of requests in flight per server. The default is the server's own limit (its `--max-num-seqs`)
    if gymposium started it, else 64. Further requests would wait in the server and use up their time limit."""
    request_seconds: float = 600.0
    """Time limit of a request in seconds. `token_seconds` is added per token."""
    token_seconds: float = 1.0
    """Seconds added to a request's time limit for each token that the reply may have."""
    exchange: str | None = None
    """The directory for passing weights to the servers if all weights are trained. The servers must see it under the
    same path. `/dev/shm` is the fastest for servers on this machine. It needs space for two copies of the model. By
    default, the run's directory."""
    reproducible: bool | None = None
    """Whether requests carry seeds. With them, the same request gets the same reply, but vLLM samples the replies of a
    batch one at a time. By default, players' requests carry seeds, and training runs' requests do not."""

    def __post_init__(self) -> None:
        if self.at_once is not None and self.at_once < 1:
            raise BadOption(f"Invalid at_once={self.at_once}. Use 1 or more concurrent requests.")
        if self.servers < 1:
            raise BadOption(f"Invalid servers={self.servers}. Use 1 or more servers.")
        _ = self.patience, self.urls
        divide_devices(self.devices, self.servers)

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs in `url`, if any. Raises `BadOption` for an empty or duplicate URL."""
        urls = () if self.url is None else tuple(url.strip().rstrip("/") for url in self.url.split(","))
        for url in urls:
            if not url or urls.count(url) > 1:
                raise BadOption(
                    f"Invalid url={self.url}: {'empty URL' if not url else f'duplicate URL {url}'}. Write different "
                    f"URLs separated by commas."
                )
        return urls

    @property
    def patience(self) -> Patience:
        """The time limits of requests. Raises `BadOption` for a limit that is out of range."""
        return Patience(request=self.request_seconds, token=self.token_seconds)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of a server started by this process."""

    model: str
    """The model to serve: a directory or a hub name."""
    lora_rank: int = 0
    """The maximum rank of an adapter. 0: no adapters."""
    max_loras: int = 4
    """The maximum number of adapters in one batch. If more are published, they take turns."""
    host: str = "127.0.0.1"
    """The address that the server listens on."""
    port: int = 0
    """The port that the server listens on, or 0 for a free one."""
    dtype: str = "auto"
    """The number type, as in vLLM's --dtype. `auto` is float32 on a CPU and the checkpoint's type on a GPU."""
    max_model_len: int | None = None
    """The maximum number of tokens of prompt and reply together, or None for the model's limit."""
    max_num_seqs: int | None = None
    """The maximum number of concurrent requests. Further requests wait in the server. Default: 256, or 64 with the CPU
    build."""
    kv_cache_gib: int = 2
    """Memory for the key-value cache in GiB, for the CPU build."""
    devices: tuple[str, ...] = ()
    """GPUs that the server may use, named as in `CUDA_VISIBLE_DEVICES`. Default: those visible to this process."""
    more: tuple[str, ...] = ()
    """Further arguments of vLLM's server."""

    def check(self) -> None:
        """Raise `BadOption` for a rank that vLLM does not accept, and for an open address without a key."""
        if self.lora_rank > LORA_RANKS[-1]:
            raise BadOption(
                f"A rank of {self.lora_rank} is too high: vLLM supports LoRA adapters up to rank {LORA_RANKS[-1]}. "
                "Lower it."
            )
        if not is_loopback(self.host) and not os.environ.get(KEY_VARIABLE):
            raise BadOption(
                f"A server on {self.host} can be reached from other machines and needs a key. Set {KEY_VARIABLE} here "
                f"and for its clients, or leave --host at 127.0.0.1 and reach it through  ssh -L"
            )

    def command(self, python: str, build: str, port: int) -> list[str]:
        """Return the command line that starts the server with vLLM's Python."""
        options = {
            "--model": self.model,
            "--served-model-name": SERVED_NAME,
            "--host": self.host,
            "--port": str(port),
            "--dtype": "float32" if self.dtype == "auto" and build == "cpu" else self.dtype,
            # otherwise the model's generation_config.json sets a temperature, a top-p and a top-k
            "--generation-config": "vllm",
            # log-probabilities at the sampling temperature, to compare with the learner's
            "--logprobs-mode": "processed_logprobs",
            "--max-num-seqs": str(self.max_num_seqs or (64 if build == "cpu" else 256)),
        }
        command = make_python_command(str(SERVING), *chain(*options.items()), python=python)
        if self.max_model_len is not None:
            command += ["--max-model-len", str(self.max_model_len)]
        if self.lora_rank:
            rank = next(rank for rank in LORA_RANKS if rank >= self.lora_rank)
            command += ["--enable-lora", "--max-loras", str(self.max_loras), "--max-lora-rank", str(rank)]
            if build == "cpu":
                command += ["--lora-target-modules", *CPU_LORA_LAYERS]
        if build == "cpu":
            # other modes need a C++ compiler. With chunked prefill, vLLM 0.32 discards tokens and rewinds the request's
            # generator. Generators on a CPU do not support that, so it crashes (gpu_model_runner.py: gen.set_offset)
            command += ["--enforce-eager", "--no-enable-chunked-prefill"]
        return [*command, *self.more]

    def environment(self, variables: Mapping[str, str], build: str) -> dict[str, str]:
        """Return the server's environment variables: those of this process, such as HF_HUB_OFFLINE, without those for
        its own packages (`clean_environment`)."""
        environment = make_clean_environment(variables) | {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
        if key := environment.pop(KEY_VARIABLE, None):
            environment["VLLM_API_KEY"] = key
        if self.devices:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(self.devices)
        if self.lora_rank:
            environment["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "1"
        if build == "cpu":
            environment["VLLM_CPU_KVCACHE_SPACE"] = str(self.kv_cache_gib)
        return environment


def divide_devices(devices: Sequence[str], servers: int) -> list[tuple[str, ...]]:
    """Return the GPUs of each server, with the same number for each, in order. Raises `BadOption` if they cannot be
    divided evenly."""
    if len(devices) % servers:
        raise BadOption(
            f"devices={','.join(devices)}: {quantity(len(devices), 'GPU')} cannot be divided evenly among {servers} "
            f"servers. Name a multiple of {servers} GPUs."
        )
    each = len(devices) // servers
    return [tuple(devices[i * each : (i + 1) * each]) for i in range(servers)]


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach a server that listens on `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
