"""The tokens that end a reply, found by rendering a reply with the chat template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from transformers import PreTrainedTokenizerBase

from gymposium.errors import GymposiumError
from gymposium_agents.chat.messages import make_assistant_message, make_user_message
from gymposium_agents.chat.template import Template


@dataclass(frozen=True, slots=True)
class Endings:
    """The tokens that end a reply."""

    end: int
    """The token that the template writes after a reply, or the tokenizer's eos if it writes none."""
    text: str
    """The text of `end`."""
    stops: frozenset[int]
    """Tokens that end sampling. If the template writes no token after a reply, these are eos and the first tokens of
    the messages that may follow."""

    @classmethod
    def from_template(cls, template: Template, tokenizer: PreTrainedTokenizerBase, before_result: str) -> Self:
        """Find the endings of replies. `before_result` is the template's text between a call and its result. Empty if
        the template writes no text there."""
        mark = template.usual.reply
        eos = int(tokenizer.eos_token_id)
        last = template.wording(
            [make_user_message("?"), make_assistant_message(mark)], template.usual, opened=False
        ).rpartition(mark)[2]
        if (first := _find_first_control(template, last)) is not None:
            return cls(first[0], first[1], frozenset({first[0], eos}))
        try:
            asked = template.wording(
                [make_user_message("?"), make_assistant_message(mark), make_user_message("?")], template.usual
            ).rpartition(mark)[2]
        except GymposiumError:  # it rejects a second user message
            asked = ""
        others = [one[0] for text in (asked, before_result) if (one := _find_first_control(template, text)) is not None]
        return cls(eos, str(tokenizer.eos_token), frozenset({eos, *others}))


def _find_first_control(template: Template, text: str) -> tuple[int, str] | None:
    """Return the control token that a text begins with."""
    at, content = next(template.controls.found(text), (-1, ""))
    if at != 0:
        return None
    return next((i, content) for i, token in template.controls.added.items() if token.content == content)
