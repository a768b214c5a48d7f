"""The largest tensor that the operators of torch return, for tests of memory."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LargestTensor(TorchDispatchMode):
    """Notes the size of the largest tensor that was returned by an operator inside the context."""

    elements = 0
    """Elements of the largest tensor of numbers; masks are not counted."""
    nbytes = 0
    """Bytes of the largest memory behind a tensor of any type."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.nbytes = max(self.nbytes, leaf.untyped_storage().nbytes())
                if leaf.is_floating_point():
                    self.elements = max(self.elements, leaf.numel())
        return result
