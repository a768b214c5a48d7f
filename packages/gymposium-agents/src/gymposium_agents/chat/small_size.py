"""The size and chat template of a small model. This module does not import torch, so that configs can use it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields

from gymposium.errors import BadOption

CHAT_TEMPLATE = (
    "{% if tools %}<|system|>"
    "{% if messages and messages[0].role == 'system' %}{{ messages[0].content + '\n\n' }}{% endif %}"
    "{% for tool in tools %}{{ (tool | tojson) + '\n' }}{% endfor %}"
    '{{ \'Write <tool_call>\n{"name": ..., "arguments": ...}\n</tool_call>\' }}<|end|>{% endif %}'
    "{% for message in messages %}{% if message.role == 'tool' %}"
    "{{ '<|user|><tool_response>\n' + message.content + '\n</tool_response><|end|>' }}"
    "{% elif not (tools and loop.first and message.role == 'system') %}"
    "<|{{ message.role }}|>{{ message.content }}"
    "{% for call in message.tool_calls or () %}"
    "{{ ('\n' if message.content or not loop.first else '') + '<tool_call>\n{\"name\": \"' + call.function.name }}"
    "{{ '\", \"arguments\": ' + (call.function.arguments | tojson) + '}\n</tool_call>' }}"
    "{% endfor %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""The chat template. A role is one token. Qwen's frame is longer: around a short prompt, a small model would spend half
of its time on it. Tools, calls and results are as in Qwen 2.5, and results have the role user."""

UNUSED_POSITIONS = 2
"""OPT's position-embedding offset."""
BOARD_VOCABULARY, PROSE_VOCABULARY = 512, 2048
"""Default vocabulary sizes for boards and for prose, in tokens."""
BOARD_HEADS, PROSE_HEADS = 4, 2
"""Default numbers of attention heads per layer for boards and for prose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallModel:
    """Size of a small model. Raises `BadOption` for an impossible size."""

    hidden: int = 64
    """Width of the residual stream."""
    layers: int = 2
    """Number of layers, each of attention and feed-forward."""
    heads: int | None = None
    """Number of attention heads per layer. Default: 4, or 2 for prose, because rotary positions need wide heads."""
    feed_forward: int = 128
    """Width of the feed-forward part of each layer."""
    prose: bool | None = None
    """Whether the model reads prose rather than boards. For prose, it uses the Llama architecture, whose rotary
    positions let it copy words from anywhere in a prompt, and its tokens are words. For boards, it uses the OPT
    architecture, whose learned positions distinguish cells. By default, a run makes a model for prose if one of its
    games uses free text."""
    vocabulary: int | None = None
    """Maximum vocabulary size in tokens. Default: 512, or 2,048 for prose."""
    context: int = 1024
    """Maximum number of tokens of prompt and reply together."""
    initializer_range: float = 0.08
    """Standard deviation of the initial weights. Wider than the 0.02 of large models, because a narrow model then
    starts to learn much sooner."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value is not False and value <= 0:
                raise BadOption(f"A small model's {field.name} is {value}. Set it above 0.")
        if self.hidden % self.attention_heads:
            raise BadOption(
                f"A small model's hidden size of {self.hidden} is not divisible by its {self.attention_heads} heads. "
                f"Use a multiple of {self.attention_heads}."
            )

    @property
    def attention_heads(self) -> int:
        """The number of attention heads per layer."""
        return self.heads or (PROSE_HEADS if self.prose else BOARD_HEADS)

    @property
    def tokens(self) -> int:
        """The maximum vocabulary size in tokens."""
        return self.vocabulary or (PROSE_VOCABULARY if self.prose else BOARD_VOCABULARY)

    def linear_layers(self) -> dict[str, tuple[int, int]]:
        """Return inputs and outputs of each linear map in one layer, by the last part of its name."""
        square, up, down = (self.hidden,) * 2, (self.hidden, self.feed_forward), (self.feed_forward, self.hidden)
        attention = dict.fromkeys(("q_proj", "k_proj", "v_proj", "o_proj" if self.prose else "out_proj"), square)
        if self.prose:
            return {**attention, "gate_proj": up, "up_proj": up, "down_proj": down}
        return {**attention, "fc1": up, "fc2": down}

    def parameters(self, vocabulary: int) -> int:
        """Return the number of parameters with a vocabulary of this many tokens. They are the token embeddings shared
        with the output, linear maps, and norms. For boards, there are also position embeddings, and biases of maps and
        norms."""
        if self.prose:
            linear = sum(inputs * outputs for inputs, outputs in self.linear_layers().values())
            return vocabulary * self.hidden + self.layers * (linear + 2 * self.hidden) + self.hidden
        norm = 2 * self.hidden
        linear = sum((inputs + 1) * outputs for inputs, outputs in self.linear_layers().values())
        embeddings = vocabulary + self.context + UNUSED_POSITIONS
        return embeddings * self.hidden + self.layers * (linear + 2 * norm) + norm

    def lora_parameters(self, rank: int, targets: Collection[str] | None) -> int:
        """Return the number of LoRA parameters on the linear maps named in `targets`, or on all linear maps if
        `targets` is None."""
        sizes = (size for name, size in self.linear_layers().items() if targets is None or name in targets)
        return self.layers * sum(rank * (inputs + outputs) for inputs, outputs in sizes)
