"""From prompt text to token ids, by the model's own chat template.

Text that a game or a seat supplies can never become a control token: only the template's own text is
tokenized with special tokens recognised.
"""

from __future__ import annotations

from functools import lru_cache

from transformers import PreTrainedTokenizerBase

from gymposium.errors import GymposiumError

_PROBE = "\ue000"  # a private-use character, which no template contains


class Chat:
    """Single-message chats of one tokenizer: state-only context, so each turn is a chat of its own."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        if not tokenizer.chat_template:
            raise GymposiumError(
                f"The tokenizer of {tokenizer.name_or_path!r} has no chat template. Use an instruction-tuned model, "
                f"or set tokenizer.chat_template and save it beside the model."
            )
        if tokenizer.eos_token_id is None:
            raise GymposiumError(f"The tokenizer of {tokenizer.name_or_path!r} names no end-of-turn token (eos_token).")
        self.tokenizer = tokenizer
        rendered = tokenizer.apply_chat_template(
            [{"role": "user", "content": _PROBE}], tokenize=False, add_generation_prompt=True
        )
        before, found, after = str(rendered).partition(_PROBE)
        if not found:
            raise GymposiumError(f"The chat template of {tokenizer.name_or_path!r} drops what the user says.")
        self._before = tuple(tokenizer.encode(before, add_special_tokens=False))
        self._after = tuple(tokenizer.encode(after, add_special_tokens=False))
        self.stop: int = int(tokenizer.eos_token_id)
        """The token that ends a reply."""
        self.prompt = lru_cache(maxsize=65536)(self._prompt)
        """Ids of a prompt with `text` as the user's message, ready for the reply."""

    def plain(self, text: str) -> tuple[int, ...]:
        """Ids of text that somebody else wrote: `<|end|>` in it is seven ordinary characters."""
        return tuple(self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))

    def reply(self, text: str) -> tuple[int, ...]:
        """Ids of a whole reply, end of turn included."""
        return (*self.plain(text), self.stop)

    def read(self, ids: tuple[int, ...]) -> str:
        """The text of a completion, without its end of turn. Control tokens inside it stay visible."""
        if ids and ids[-1] == self.stop:
            ids = ids[:-1]
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def _prompt(self, text: str) -> tuple[int, ...]:
        return (*self._before, *self.plain(text), *self._after)
