"""vLLM's server as its build for CPUs needs to be started: with one error mended.

Runs by itself in vLLM's environment (`python cpu_server.py ARGUMENTS …`) and imports nothing of gymposium. Its
processes are spawned, so each reads this file anew and mends its own vLLM.

A token without an adapter has the adapter's index -1 in a batch with others. vLLM 0.32's operations for CPUs
(`lora/ops/torch_ops/lora_ops.py`) take that as the last slot: once all slots are filled, the base model answers with
somebody's adapter. Here such tokens get nothing from any slot.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def mend(package: Any) -> None:
    """Let `bgmv_shrink`, on which all the others stand, give 0 where there is no adapter: in the module that defines
    it, and in the package that hands it on."""
    shrink = package.lora_ops.bgmv_shrink

    def shrink_adapted(
        inputs: Any, lora_b_weights: Any, output_tensor: Any, lora_indices_tensor: Any, scaling: float = 1.0
    ) -> None:
        shrink(inputs, lora_b_weights, output_tensor, lora_indices_tensor, scaling)
        output_tensor[lora_indices_tensor < 0] = 0.0

    package.bgmv_shrink = package.lora_ops.bgmv_shrink = shrink_adapted


mend(import_module("vllm.lora.ops.torch_ops"))

if __name__ == "__main__":
    import_module("vllm.entrypoints.launchers.api_server.entry").main()
