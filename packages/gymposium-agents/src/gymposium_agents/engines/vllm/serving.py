"""vLLM's server with two additional routes, and fixes for bugs of its CPU build.

It runs as a script in vLLM's environment (`python -P serving.py ARGUMENTS …`) and imports nothing from gymposium. All
of vLLM's processes have the changes, because they are forked, or spawned and then execute this file again. A change
that does not fit another version of vLLM is left out with a warning.

`GET /v1/gymposium` reports the server's limit on concurrent requests, the digest (`compute_digest`) of each adapter's
tensors as loaded by each worker, and the version and digests of replaced weights.

`POST /v1/gymposium/weights` with `{"directory": …, "version": …}` replaces all weights of the model with those in a
directory of safetensors. The server then also serves the model under the name of the version. Incomplete directories
are refused, and the server keeps its weights. If loading fails halfway, the server exits, to be started again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

log = logging.getLogger("gymposium")

Shapes = dict[str, tuple[int, ...]]
"""The shapes of named tensors."""


def compute_digest(tensors: Mapping[str, Any]) -> str:
    """Return the SHA-256 digest of named torch tensors: names, shapes and values in float32, ordered by name."""
    import torch

    sha256 = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        values = tensor.detach().to("cpu", torch.float32).contiguous()
        sha256.update(f"{name} {tuple(values.shape)}\n".encode())
        sha256.update(values.numpy().data)
    return sha256.hexdigest()


def iterate_tensors(directory: Path) -> Iterator[tuple[str, Any]]:
    """Yield the torch tensors in a directory of safetensors, as (name, tensor) pairs."""
    from safetensors import safe_open

    for file in sorted(directory.glob("*.safetensors")):
        with safe_open(file, framework="pt") as opened:
            for name in opened.keys():  # noqa: SIM118 (it is no mapping)
                yield name, opened.get_tensor(name)


def hash_tensors(tensors: Iterator[tuple[str, Any]], sha256: Any) -> Iterator[tuple[str, Any]]:
    """Yield `tensors`, and add their names, types, shapes and bytes to a hash as they are read."""
    import torch

    for name, tensor in tensors:
        sha256.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        sha256.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().data)
        yield name, tensor


def compute_directory_digest(directory: Path) -> str:
    """Return the digest of the tensors in a directory of safetensors, as reported by a worker that loaded them. Raises
    `ValueError` for a truncated file."""
    read_shapes(directory)
    sha256 = hashlib.sha256()
    for _ in hash_tensors(iterate_tensors(directory), sha256):
        pass
    return sha256.hexdigest()


def read_shapes(directory: Path) -> Shapes:
    """Read the shapes of the tensors in a directory of safetensors. Raises `ValueError` for a truncated file."""
    shapes: Shapes = {}
    for file in sorted(directory.glob("*.safetensors")):
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            try:
                header = json.loads(opened.read(min(size, file.stat().st_size)))
            except ValueError:
                raise ValueError(f"{file} is truncated or damaged: its header is incomplete") from None
        header.pop("__metadata__", None)
        end = max((tensor["data_offsets"][1] for tensor in header.values()), default=0)
        if file.stat().st_size != 8 + size + end:
            raise ValueError(f"{file} is truncated or damaged: {file.stat().st_size} bytes instead of {8 + size + end}")
        shapes |= {name: tuple(tensor["shape"]) for name, tensor in header.items()}
    return shapes


def find_shape_problem(found: Shapes, expected: Shapes, tied: str | None = None) -> str | None:
    """Return what is wrong with a directory's tensors, or None. `tied` is the name of an output layer that equals the
    embedding. Files may omit it."""
    for name in expected.keys() | found.keys():
        if name == tied:
            continue
        if name not in found:
            return f"tensor {name} is missing ({len(expected.keys() - found.keys())} missing in all)"
        if name not in expected:
            return f"tensor {name} is not part of the model"
        if found[name] != expected[name]:
            return f"tensor {name} has the shape {list(found[name])} instead of {list(expected[name])}"
    return None


def check_weights(directory: Path, model: Any) -> None:
    """Raise `ValueError` if a directory does not contain exactly the tensors of the server's model. `model` is vLLM's
    configuration of the model."""
    found = read_shapes(directory)
    if not found:
        raise ValueError(f"{directory} contains no safetensors that this server can read")
    source = Path(model.model)
    if not source.is_dir():
        from huggingface_hub import snapshot_download

        options = {"revision": model.revision, "allow_patterns": ["*.safetensors"], "local_files_only": True}
        source = Path(snapshot_download(model.model, **options))
    expected = read_shapes(source)
    tied = "lm_head.weight" if getattr(model.hf_text_config, "tie_word_embeddings", False) else None
    if expected and (problem := find_shape_problem(found, expected, tied)):
        raise ValueError(f"{directory}: {problem}")


def replace_weights_on_request() -> None:
    """Let each worker replace the model's weights with those in a directory, and return the digest of what it read."""
    worker: Any = import_module("vllm.v1.worker.worker_base").WorkerBase

    def gymposium_load(self: Any, directory: str) -> str:
        sha256 = hashlib.sha256()
        self.reload_weights(weights_iterator=hash_tensors(iterate_tensors(Path(directory)), sha256))
        if runs_on_cpu():
            repack_weights(self.model_runner.get_model())
        return sha256.hexdigest()

    worker.gymposium_load = gymposium_load


def repack_weights(model: Any) -> None:
    """Pack reloaded weights that the CPU build of vLLM 0.32 packs only at the first load. These are experts, and output
    layers that share the embedding's weights. Without this, they keep computing with the old weights."""
    head = import_module("vllm.model_executor.layers.vocab_parallel_embedding").ParallelLMHead
    for layer in model.modules():
        if isinstance(layer, head):
            layer.quant_method.process_weights_after_loading(layer)
        kernel = getattr(getattr(layer, "quant_method", None), "moe_kernel", None)
        if kernel is not None:
            kernel.fused_experts.process_weights_after_loading(layer)


def runs_on_cpu() -> bool:
    """Return True for vLLM's CPU build."""
    return bool(import_module("vllm.platforms").current_platform.is_cpu())


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


def add_routes() -> None:
    """Add the routes `/v1/gymposium` and `/v1/gymposium/weights` to the HTTP server."""
    apps: Any = import_module("vllm.entrypoints.launchers.app")
    worker = import_module("vllm.v1.worker.worker_base").WorkerBase
    register = apps.register_api_routers

    def register_with_ours(args: Any, app: Any, *rest: Any, **named: Any) -> None:
        register(args, app, *rest, **named)
        app.state.gymposium_weights, one_at_a_time = None, asyncio.Lock()

        async def about() -> dict[str, Any]:
            engine, models = app.state.engine_client, app.state.openai_serving_models
            loaded = await engine.collective_rpc("gymposium_digests") if hasattr(worker, "gymposium_digests") else []
            adapters = {
                name: [worker.get(str(request.lora_int_id)) for worker in loaded]
                for name, request in models.lora_requests.items()
            }
            return {
                "max_num_seqs": engine.vllm_config.scheduler_config.max_num_seqs,
                "adapters": adapters,
                "weights": app.state.gymposium_weights,
            }

        async def replace(body: dict[str, str]) -> dict[str, Any]:
            async with one_at_a_time:
                app.state.gymposium_weights = await replace_weights(app.state, body["directory"], body["version"])
                return dict(app.state.gymposium_weights)

        app.add_api_route("/v1/gymposium", about)
        app.add_api_route("/v1/gymposium/weights", replace, methods=["POST"])

    apps.register_api_routers = register_with_ours


async def replace_weights(state: Any, directory: str, version: str) -> dict[str, Any]:
    """Replace the weights of the server with this `state`. Requests in flight end with the old weights. Later requests,
    and requests that name the version, get the new weights. Returns the version, and the digest read by each worker."""
    engine, models = state.engine_client, state.openai_serving_models
    try:
        await asyncio.to_thread(check_weights, Path(directory), engine.vllm_config.model_config)
    except (OSError, ValueError) as error:
        raise import_module("fastapi").HTTPException(400, str(error)) from error
    await engine.pause_generation(mode="wait", clear_cache=True)
    try:
        digests = await engine.collective_rpc("gymposium_load", args=(directory,))
        await engine.update_weight_version(version)
    except BaseException:
        # some layers may be new and others old, so this server must not answer anymore
        log.exception("Cannot replace the weights by those in %s. The server exits.", directory)
        os._exit(1)
    base = models.base_model_paths[0]
    models.base_model_paths[1:] = [type(base)(name=version, model_path=base.model_path)]
    await engine.resume_generation()
    return {"version": version, "digests": digests}


def patch_lora_operations(package: Any) -> None:
    """Fix the CPU operations of vLLM 0.32 (`lora/ops/torch_ops/lora_ops.py`) for tokens without an adapter.

    Such a token has the adapter index -1, which the operations treat as the last slot. Once all slots are filled, the
    base model answers with the adapter in that slot. The fix makes `bgmv_shrink`, which all other operations use,
    return 0 for such tokens. It is replaced in its module and in the package that re-exports it."""
    shrink = package.lora_ops.bgmv_shrink

    def shrink_adapted(
        inputs: Any, lora_b_weights: Any, output_tensor: Any, lora_indices_tensor: Any, scaling: float = 1.0
    ) -> None:
        shrink(inputs, lora_b_weights, output_tensor, lora_indices_tensor, scaling)
        output_tensor[lora_indices_tensor < 0] = 0.0

    package.bgmv_shrink = package.lora_ops.bgmv_shrink = shrink_adapted


def patch_vllm() -> None:
    """Make the changes that this build needs. A change that this version of vLLM does not allow is left out."""
    changes: list[Callable[[], None]] = [note_digests, replace_weights_on_request, add_routes]
    if runs_on_cpu():
        changes.append(lambda: patch_lora_operations(import_module("vllm.lora.ops.torch_ops")))
    for change in changes:
        try:
            change()
        except (ImportError, AttributeError):
            log.warning("Cannot make this change to vLLM, and continue without it: %s", change, exc_info=True)


def main() -> None:
    """Patch vLLM, and run its server if this is the main process."""
    patch_vllm()
    if __name__ == "__main__":
        import_module("vllm.entrypoints.launchers.api_server.entry").main()


if __name__ in ("__main__", "__mp_main__"):
    main()
