"""What the commands share to print: tables and JSON on stdout, everything else on stderr."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from gymposium.visible import visible

if TYPE_CHECKING:
    from gymposium.scores import Estimate


def out() -> Console:
    """The console for results. Made when it is needed, so that it writes to the stdout of that moment."""
    return Console(highlight=False, markup=False)


def err() -> Console:
    """The console for progress, notes and errors."""
    return Console(stderr=True, highlight=False, markup=False)


def complain(message: str) -> None:
    """An error, on one line that can be copied."""
    err().print(Text.assemble(("error: ", "bold red"), visible(message)), soft_wrap=True)


def note(message: str) -> None:
    """Something worth knowing that is no result."""
    err().print(Text(visible(message), style="dim"), soft_wrap=True)


def show(console: Console, text: str, style: str | None = None) -> None:
    """Text as it is; on a terminal, lines that are too long are broken between words."""
    console.print(visible(text), style=style, soft_wrap=not console.is_terminal)


def finite(data: Any) -> Any:
    """Plain data for JSON, null for every figure that does not exist (NaN, infinity)."""
    if isinstance(data, Mapping):
        return {str(key): finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def with_interval(estimate: Estimate) -> str:
    """`0.920 [0.850, 0.959]`, with dashes for what there is not."""
    value, low, high = (
        "–" if math.isnan(figure) else f"{figure:.3f}" for figure in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} [{low}, {high}]"


def number(value: float) -> str:
    """`+1`, `-0.5`, `0`."""
    return "0" if value == 0 else f"{value:+g}"
