"""vLLM's server with two changes: an additional route, and a fix for a bug of its CPU build.

It runs as a script in vLLM's environment (`python -P serving.py ARGUMENTS …`) and imports nothing from gymposium.
vLLM's processes are forked, or spawned and execute this file again, so all of them have the changes.

The route `/v1/gymposium` reports the server's limit on concurrent requests and, for each adapter, the digest
(`compute_digest`) of the tensors loaded by each worker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def compute_digest(tensors: Mapping[str, Any]) -> str:
    """Return the SHA-256 digest of named torch tensors: names, shapes and values in float32, ordered by name."""
    import torch

    sha256 = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        values = tensor.detach().to("cpu", torch.float32).contiguous()
        sha256.update(f"{name} {tuple(values.shape)}\n".encode())
        sha256.update(values.numpy().data)
    return sha256.hexdigest()


def note_digests() -> None:
    """Make each worker compute the digest of every adapter when it loads its tensors, and report it on request."""
    model = import_module("vllm.lora.lora_model").LoRAModel
    worker = import_module("vllm.v1.worker.worker_base").WorkerBase
    load = model.from_lora_tensors.__func__

    def from_lora_tensors(cls: Any, lora_model_id: int, tensors: Mapping[str, Any], *rest: Any, **named: Any) -> Any:
        loaded = load(cls, lora_model_id, tensors, *rest, **named)
        loaded.gymposium_digest = compute_digest(tensors)
        return loaded

    def gymposium_digests(self: Any) -> dict[str, str]:
        """Return the digests by adapter number as text, because some channels between vLLM's processes convert numeric
        keys. Empty if the worker reads only its share of the experts."""
        runner = self.model_runner
        if self.vllm_config.parallel_config.enable_expert_parallel or getattr(runner, "lora_manager", None) is None:
            return {}
        held = runner.lora_manager._adapter_manager.list_adapters()
        return {str(n): getattr(model, "gymposium_digest", "") for n, model in held.items()}

    model.from_lora_tensors = classmethod(from_lora_tensors)
    worker.gymposium_digests = gymposium_digests


def add_route() -> None:
    """Add the route `/v1/gymposium` to the HTTP server."""
    apps: Any = import_module("vllm.entrypoints.launchers.app")
    register = apps.register_api_routers

    def register_with_ours(args: Any, app: Any, *rest: Any, **named: Any) -> None:
        register(args, app, *rest, **named)

        async def about() -> dict[str, Any]:
            engine, models = app.state.engine_client, app.state.openai_serving_models
            loaded = await engine.collective_rpc("gymposium_digests")
            adapters = {
                name: [worker.get(str(request.lora_int_id)) for worker in loaded]
                for name, request in models.lora_requests.items()
            }
            return {"max_num_seqs": engine.vllm_config.scheduler_config.max_num_seqs, "adapters": adapters}

        app.add_api_route("/v1/gymposium", about)

    apps.register_api_routers = register_with_ours


def patch_lora_operations(package: Any) -> None:
    """Fix the CPU operations of vLLM 0.32 (`lora/ops/torch_ops/lora_ops.py`) for tokens without an adapter.

    Such a token has the adapter index -1, which the operations treat as the last slot: once all slots are filled, the
    base model answers with the adapter in that slot. The fix makes `bgmv_shrink`, which all other operations use,
    return 0 for such tokens. It is replaced in its module and in the package that re-exports it."""
    shrink = package.lora_ops.bgmv_shrink

    def shrink_adapted(
        inputs: Any, lora_b_weights: Any, output_tensor: Any, lora_indices_tensor: Any, scaling: float = 1.0
    ) -> None:
        shrink(inputs, lora_b_weights, output_tensor, lora_indices_tensor, scaling)
        output_tensor[lora_indices_tensor < 0] = 0.0

    package.bgmv_shrink = package.lora_ops.bgmv_shrink = shrink_adapted


def main() -> None:
    """Patch vLLM, and run its server if this is the main process."""
    patch_lora_operations(import_module("vllm.lora.ops.torch_ops"))
    note_digests()
    add_route()
    if __name__ == "__main__":
        import_module("vllm.entrypoints.launchers.api_server.entry").main()


if __name__ in ("__main__", "__mp_main__"):
    main()
